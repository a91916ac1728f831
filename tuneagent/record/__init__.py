"""The store of trials: raw rounds, so that a verdict can be worked out again."""
