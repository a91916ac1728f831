"""View, judgements and policies → exact changes. Pure: policy texts come from the caller, and nothing is written."""
