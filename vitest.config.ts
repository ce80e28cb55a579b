import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { patiently } from './test/support/patience.ts';
import { isQuickRun } from './test/support/property-runs.ts';
import { TESTCONTAINERS_SETTINGS } from './test/support/testcontainers-settings.ts';

/**
 * The suffix is the tier: `.test.ts` needs nothing, `.waiting.test.ts` neither but mostly waits (for a process that it
 * started, a deadline, a socket), `.container.test.ts` needs a real broker or runtime in a container, `.e2e.test.ts`
 * the whole pipeline in containers, and `.world.test.ts` what the core does without: tools and runtimes of others, logins
 * and TLS, several brokers, our own image.
 */
const WAITING_TESTS = ['{test,lab}/**/*.waiting.test.ts'];
const WORLD_TESTS = ['{test,lab}/**/*.world.test.ts'];
/** All orders of what can happen: less than all says nothing. */
const NOT_IN_A_QUICK_RUN = ['lab/exhaustive/{executor,replicas}/*.test.ts'];
const CONTAINER_TESTS = ['{test,lab}/**/*.container.test.ts', '{test,lab}/**/*.e2e.test.ts', ...WORLD_TESTS];

// Loading the program anew for each file costs more than all of the tests.
const WITHOUT_CONTAINERS = {
  isolate: false,
  pool: 'threads',
  setupFiles: ['test/support/shorten-properties.ts'],
  testTimeout: patiently(90_000),
  hookTimeout: patiently(90_000),
} as const;

/** Each file has containers of its own, which wait more than they compute: a machine with two cores bears four at a time. */
const IN_CONTAINERS = {
  globalSetup: ['test/support/global-setup.ts'],
  env: TESTCONTAINERS_SETTINGS,
  maxWorkers: 4,
  sequence: { groupOrder: 2 },
  testTimeout: patiently(240_000),
  hookTimeout: patiently(300_000),
};

/**
 * The whole pipeline waits longest, chaos and comparisons play many rounds, and searches compute for minutes, so these files
 * begin first and the short ones fill the end: what begins last keeps one worker busy while the others have nothing to do.
 * Within a project it is as usual: what took longest in the last run, and before the first one what is largest.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b));
  }
}

const LONG = /\/(bench|chaos|compare|deploy\/access|exhaustive)\//;
const groupOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
const placeOf = ({ project, moduleId }: TestSpecification): number =>
  project.name === 'e2e' || LONG.test(moduleId) ? 0 : 1;

export default defineConfig({
  // As Node.js itself runs it: `using`, written anew for older ones, takes what it does not.
  oxc: { target: 'esnext' },
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...WITHOUT_CONTAINERS,
          // Tests that wait speak with other processes, whose clocks do not jump.
          setupFiles: [...WITHOUT_CONTAINERS.setupFiles, 'test/support/jumping-clock.ts'],
          name: 'unit',
          include: ['{test,lab}/**/*.test.ts'],
          exclude: [...WAITING_TESTS, ...CONTAINER_TESTS, ...(isQuickRun() ? NOT_IN_A_QUICK_RUN : [])],
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...WITHOUT_CONTAINERS,
          name: 'waiting',
          include: WAITING_TESTS,
          maxWorkers: Math.max(4, availableParallelism()),
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...IN_CONTAINERS,
          name: 'container',
          include: ['{test,lab}/**/*.container.test.ts'],
        },
      },
      {
        test: {
          ...IN_CONTAINERS,
          name: 'e2e',
          include: ['{test,lab}/**/*.e2e.test.ts'],
        },
      },
      // Clusters, browsers and builds compute: more at a time only wait for each other.
      { test: { ...IN_CONTAINERS, name: 'world', include: WORLD_TESTS, maxWorkers: 2 } },
    ],
  },
});
