import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { TESTCONTAINERS_SETTINGS } from './test/support/testcontainers-settings.ts';

/**
 * The suffix is the tier: `.test.ts` needs nothing, `.container.test.ts` a real broker or runtime in a container,
 * `.e2e.test.ts` the whole pipeline in containers.
 */
const CONTAINER_TESTS = ['test/**/*.container.test.ts', 'test/e2e/**/*.e2e.test.ts'];

/** Each file has containers of its own; two at a time is what a machine with two cores bears. */
const IN_CONTAINERS = {
  globalSetup: ['test/support/global-setup.ts'],
  env: TESTCONTAINERS_SETTINGS,
  maxWorkers: 2,
};

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: CONTAINER_TESTS,
          // A bound for what hangs: on a machine with much to do a property takes many times its usual second.
          testTimeout: 60_000,
          // Loading the program anew for each file costs more than all of the tests.
          isolate: false,
          pool: 'threads',
          // Many of them wait rather than compute.
          maxWorkers: Math.max(5, availableParallelism()),
        },
      },
      {
        test: {
          ...IN_CONTAINERS,
          name: 'container',
          include: ['test/**/*.container.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          ...IN_CONTAINERS,
          name: 'e2e',
          include: ['test/e2e/**/*.e2e.test.ts'],
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
