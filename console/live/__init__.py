"""What goes to an open page: the socket, the layer behind it, and who may listen."""
