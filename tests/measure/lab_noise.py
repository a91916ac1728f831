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
