/** What testcontainers is told by environment variables, in tests and benchmarks alike. */
export const TESTCONTAINERS_SETTINGS = {
  // Leftovers are swept by our own labels, also where the image of the usual reaper cannot be pulled.
  TESTCONTAINERS_RYUK_DISABLED: 'true',
  // Ports are published on the loopback address alone. Where /.dockerenv exists, testcontainers would take the
  // bridge's gateway for the address of the Docker host, and wait there in vain.
  TESTCONTAINERS_HOST_OVERRIDE: '127.0.0.1',
} as const;
