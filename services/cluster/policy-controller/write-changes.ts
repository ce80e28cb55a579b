import type { PolicyChange } from '../../../packages/policy/policy-changes.ts';
import { deleteKeys, type PolicyWriter, writePolicies } from '../../../packages/policy/write-policies.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { changesAnything, type WritePlan } from './plan-writes.ts';
import type { ControllerParts } from './ports.ts';

export interface Written {
  readonly applied: number;
  readonly deleted: number;
  /** Why what was wanted does not stand there, by the name of the policy. */
  readonly failures: ReadonlyMap<string, string>;
  /** The last of them. */
  readonly problem: FleetGcError | null;
}

export const NOTHING_WRITTEN: Written = { applied: 0, deleted: 0, failures: new Map(), problem: null };

/** As deletions say who did it. */
const BY = 'policy-controller';

interface Deed {
  readonly name: string;
  readonly what: 'applied' | 'deleted';
  readonly run: (writer: PolicyWriter) => Promise<void>;
}

/** Applies before it deletes, each by itself, so that what cannot be written stands in nobody else's way. */
export async function writeChanges(
  plan: WritePlan,
  { policies, logger }: Pick<ControllerParts, 'policies' | 'logger'>,
  signal: AbortSignal,
): Promise<Written> {
  if (!changesAnything(plan)) return NOTHING_WRITTEN;
  const deeds = deedsOf(plan);
  const failures = new Map<string, string>();
  const done = { applied: 0, deleted: 0 };
  let problem: FleetGcError | null = null;
  const failed = (names: readonly string[], thrown: unknown): void => {
    problem = toFleetGcError(thrown);
    for (const name of names) failures.set(name, problem.message);
  };
  try {
    const writer = await policies.openWriter(signal);
    for (const { name, what, run } of deeds) {
      // Whoever has taken over may have written something newer by now.
      if (signal.aborted) break;
      try {
        await run(writer);
        done[what] += 1;
        logger.info({ policy: name }, what);
      } catch (error) {
        failed([name], error);
      }
    }
  } catch (error) {
    failed(
      deeds.map(({ name }) => name),
      error,
    );
  }
  return { ...done, failures, problem };
}

const deedsOf = ({ verdicts, deletions }: WritePlan): readonly Deed[] => [
  ...verdicts.flatMap((verdict) =>
    verdict.kind === 'policy' && verdict.change.kind !== 'unchanged'
      ? [applying(verdict.name, verdict.change)]
      : [],
  ),
  ...deletions.map(deleting),
];

const applying = (name: string, change: PolicyChange): Deed => ({
  name,
  what: 'applied',
  run: (writer) => writePolicies(writer, [change]),
});

const deleting = (name: string): Deed => ({
  name,
  what: 'deleted',
  run: (writer) => deleteKeys(writer, [name], { by: BY, reason: 'its object is gone' }),
});
