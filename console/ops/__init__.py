"""For whoever runs a server: health, metrics, logs, traces, the doctor."""
