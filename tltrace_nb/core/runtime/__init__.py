"""What builds and launches traced kernels, on a CUDA device and on the virtual GPU, and keeps their traces."""
