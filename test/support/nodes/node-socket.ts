/** Where the runtime's socket lies inside a node; the folder is shared with this machine. */
export const SOCKET_FOLDER = '/run/fleetgc';
