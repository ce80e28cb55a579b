import { globSync } from 'node:fs';
import { join } from 'node:path';

export const CHECKOUT = join(import.meta.dirname, '..', '..');

/** A folder whose mutants are counted together, and the tests that may kill them. */
export interface Folder {
  readonly name: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

/** What puts a process together decides nothing: containers and whole processes are what tries it. */
const WIRING = ['bundle-entry.ts'];
const DECISION = 'test/packages/decision';
const DECIDERS = [
  'test/packages/deciders/pressure',
  'test/packages/deciders/image-gc',
  'test/packages/deciders/container-gc',
];
const EXECUTOR = ['test/services/node/executor', 'test/packages/files'];

export const FOLDERS: readonly Folder[] = [
  {
    name: 'packages/decision',
    sources: ['packages/decision/**/*.ts'],
    tests: [DECISION, ...DECIDERS, 'test/services/node/executor', 'test/packages/plan'],
  },
  {
    name: 'packages/deciders/pressure',
    sources: ['packages/deciders/pressure/**/*.ts'],
    tests: [DECISION, 'test/packages/deciders/pressure'],
  },
  {
    name: 'packages/deciders/image-gc',
    sources: ['packages/deciders/image-gc/**/*.ts'],
    tests: [DECISION, 'test/packages/deciders/image-gc', 'test/packages/plan'],
  },
  {
    name: 'packages/deciders/container-gc',
    sources: ['packages/deciders/container-gc/**/*.ts'],
    tests: [DECISION, 'test/packages/deciders/container-gc', 'test/packages/plan'],
  },
  {
    name: 'services/node/executor: checks',
    sources: ['services/node/executor/{judge,checks,own-plan,facts}.ts'],
    tests: EXECUTOR,
  },
  {
    name: 'services/node/executor: removals',
    sources: ['services/node/executor/{executor,remove,pod-logs,measure}.ts'],
    tests: EXECUTOR,
  },
  {
    name: 'services/node/executor: journal',
    sources: ['services/node/executor/journal.ts'],
    tests: EXECUTOR,
  },
  {
    name: 'packages/files',
    sources: ['packages/files/fixed-file*.ts'],
    tests: ['test/packages/files', 'test/packages/machine', 'test/packages/records/trust'],
  },
  {
    name: 'packages/audit/verify',
    sources: ['packages/audit/verify/*.ts'],
    tests: ['test/packages/audit'],
  },
  {
    name: 'packages/records: commands and outbox',
    sources: ['packages/records/commands.ts', 'packages/records/outbox.ts'],
    tests: ['test/packages/records', 'test/services/node/executor', 'test/services/cluster/executor'],
  },
  {
    name: 'packages/records/trust',
    sources: ['packages/records/trust/*.ts'],
    tests: [
      'test/packages/records/trust',
      'test/packages/policy',
      'test/cli/verbs/keys',
      'test/cli/verbs/policy',
    ],
  },
];

const SLOWER_TIERS = ['waiting', 'container', 'e2e', 'world'];

const inCheckout = (patterns: readonly string[]): readonly string[] =>
  globSync([...patterns], { cwd: CHECKOUT }).toSorted();

export const sourcesOf = ({ sources }: Folder): readonly string[] =>
  inCheckout(sources).filter((file) => !WIRING.some((name) => file.endsWith(`/${name}`)));

/** Of the `unit` tests alone: what waits, or needs a container, would have to do so for each mutant. */
export const testsOf = ({ tests }: Folder): readonly string[] =>
  inCheckout(tests.map((folder) => `${folder}/**/*.test.ts`)).filter(
    (file) => !SLOWER_TIERS.some((tier) => file.endsWith(`.${tier}.test.ts`)),
  );
