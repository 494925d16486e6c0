"""What people type: the command line, reports, the viewer, benchmarks, exports, play, doctor, plans."""
