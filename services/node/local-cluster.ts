/** Where one machine is the whole fleet, its cluster needs no name. */
export const LOCAL_CLUSTER = 'local';
