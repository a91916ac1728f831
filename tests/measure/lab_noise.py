"""Noise of rounds in a nested hypervisor on a shared machine, as plain numbers: 5 s rounds, ABBA, one CPU below."""

from __future__ import annotations

SD_TRANSACTIONS = 0.137
"""Of the paired log ratio of transactions/s, 24 pairs; of adjacent rounds of one arm 0.129."""
SD_EXITS_PER_TRANSACTION = 0.080
SD_EXITS = 0.065
SD_TRANSACTIONS_PINNED = 0.117
"""With server and interrupts pinned, 9 pairs; of adjacent rounds of one arm 0.081."""
SD_EXITS_PER_TRANSACTION_PINNED = 0.035

BISTABLE = (952.0, 747.0, 280.0, 203.0, 479.0, 417.0, 164.0, 163.0)
"""Transactions/s of rounds whose load was not pinned: server and interrupt on one CPU or on two."""

RESIDUALS_TRANSACTIONS = (
    -0.74,
    -0.222,
    -0.574,
    0.028,
    0.097,
    0.059,
    0.194,
    -0.041,
    -0.013,
    -0.583,
    -0.13,
    0.129,
    0.152,
    0.299,
    0.293,
    -0.078,
    0.136,
    0.211,
    0.04,
    0.134,
    0.166,
    0.149,
    0.265,
    0.03,
)
"""Logarithms of transactions/s less the mean of their arm, in the order of measuring: 24 rounds of 6 s of a trial of
the event index by detach and attach, the server pinned, 8 connections; the first round found everything cold."""
RESIDUALS_TRANSACTIONS_BUSY = (
    0.202,
    -0.051,
    0.141,
    -0.49,
    -0.008,
    -0.476,
    -0.073,
    0.212,
    0.348,
    0.21,
    0.118,
    -0.411,
    -0.01,
    0.01,
    0.12,
    0.157,
)
"""The same of 16 rounds of a trial of pins in the guest, 16 connections to 2 processes."""
RESIDUALS_EXITS_PER_TRANSACTION = (
    0.484,
    0.166,
    0.405,
    -0.029,
    -0.067,
    -0.065,
    -0.15,
    0.016,
    0.003,
    0.42,
    0.092,
    -0.073,
    -0.087,
    -0.193,
    -0.212,
    0.044,
    -0.073,
    -0.153,
    -0.03,
    -0.074,
    -0.124,
    -0.105,
    -0.176,
    -0.02,
)
"""Of the first of these trials."""
