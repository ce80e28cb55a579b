import { defineConfig } from 'vitest/config';

/**
 * The suffix is the tier: `.test.ts` needs nothing, `.container.test.ts` a real broker or runtime in a container,
 * `.e2e.test.ts` the whole pipeline in containers.
 */
const CONTAINER_TESTS = ['test/**/*.container.test.ts', 'test/e2e/**/*.e2e.test.ts'];

export default defineConfig({
  test: {
    projects: [
      {
        test: { name: 'fast', include: ['test/**/*.test.ts'], exclude: CONTAINER_TESTS, testTimeout: 15_000 },
      },
      {
        test: {
          name: 'container',
          include: ['test/**/*.container.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 180_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.e2e.test.ts'],
          testTimeout: 240_000,
          hookTimeout: 300_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
