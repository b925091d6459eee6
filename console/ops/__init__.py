"""For whoever looks after a server: health, metrics, logs, traces, the doctor."""
