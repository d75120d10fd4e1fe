package rowlock

// Version is the version of this client, and of the server it came with.
const Version = "0.1.0"
