import type { PlantedBug } from '../../chaos/planted/planted.ts';

/** A bug, and the world that is to find it. */
export interface MomentaryBug extends PlantedBug {
  readonly of: 'executor' | 'replicas';
}

const EXECUTOR = 'services/node/executor';
const PIPELINE = 'packages/records';
const IN_HAND = "this.#progress(work, { state: 'in-hand', since: inHand.since });";
const REMOVES = 'const called = await remover.remove(judged.object, fresh);';
const RESTRICTIONS = 'const restrictions = await this.#sources.restrictions();';

/** Slips in the order of things, as somebody might make them: each does no harm until something comes at the wrong moment. */
export const PLANTED: readonly MomentaryBug[] = [
  {
    name: 'journal-written-after-the-removal',
    of: 'executor',
    edits: [
      { file: `${EXECUTOR}/executor.ts`, old: IN_HAND, now: '' },
      { file: `${EXECUTOR}/executor.ts`, old: REMOVES, now: `${REMOVES}\n    ${IN_HAND}` },
    ],
  },
  {
    name: 'in-hand-forgotten-by-a-crash',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/executor.ts`,
        old: "if (progress.state !== 'in-hand') return undefined;",
        now: 'return undefined;',
      },
      {
        file: `${EXECUTOR}/executor.ts`,
        old: "const isInterrupted = progress.state === 'in-hand' && !isPodLogEntry(work.item);",
        now: 'const isInterrupted = false;',
      },
    ],
  },
  {
    name: 'commit-before-publish',
    of: 'replicas',
    edits: [
      {
        file: `${PIPELINE}/consume.ts`,
        old: 'const unsent = await act(handled, publisher);',
        now: 'const unsent: FailedMessage[] = [];\n    void act(handled, publisher).catch(() => undefined);',
      },
    ],
  },
  {
    name: 'pause-read-before-the-look',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/judge.ts`,
        old: 'const reading = await readFacts();',
        now: `${RESTRICTIONS}\n    const reading = await readFacts();`,
      },
      {
        file: `${EXECUTOR}/judge.ts`,
        old: `    ${RESTRICTIONS}\n    const verdict`,
        now: '    const verdict',
      },
    ],
  },
  {
    name: 'command-id-not-remembered',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/journal.ts`,
        old: '  appliedIds: withNewest(state.appliedIds, commandId, MAX_APPLIED_IDS),\n',
        now: '',
      },
    ],
  },
  {
    name: 'result-dropped-before-it-is-published',
    of: 'executor',
    edits: [
      {
        file: 'packages/records/outbox.ts',
        old: '    try {\n      await send(batch);',
        now: '    results.replaceFirst(batch.length, []);\n    try {\n      await send(batch);',
      },
      {
        file: 'packages/records/outbox.ts',
        old: '    results.replaceFirst(batch.length, []);\n    return null;',
        now: '    return null;',
      },
    ],
  },
  {
    name: 'policy-read-at-the-start-of-a-command-only',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/run.ts`,
        old: 'const restrictions = async (): Promise<Restrictions> => {\n',
        now: "const atStart = { commandId: '', policy: node.policy() };\n  const restrictions = async (): Promise<Restrictions> => {\n    const commandId = journal.state().entries[0]?.command.id ?? '';\n    if (commandId !== atStart.commandId) Object.assign(atStart, { commandId, policy: node.policy() });\n",
      },
      {
        file: `${EXECUTOR}/run.ts`,
        old: 'policy: node.policy(),\n      distrustOf:',
        now: 'policy: atStart.policy,\n      distrustOf:',
      },
    ],
  },
  {
    name: 'second-redelivery-carried-out',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/receive.ts`,
        old: 'knows(journal.state(), command.id)) return;',
        now: 'forgets(journal, command.id)) return;',
      },
      {
        file: `${EXECUTOR}/receive.ts`,
        old: '/** No decision service writes one that large,',
        now: 'function forgets(journal: Journal, id: string): boolean {\n  if (!knows(journal.state(), id)) return false;\n  journal.update((state) => ({ ...state, appliedIds: state.appliedIds.filter((one) => one !== id) }));\n  return true;\n}\n\n/** No decision service writes one that large,',
      },
    ],
  },
  {
    name: 'commit-of-a-slice-whose-publish-failed',
    of: 'replicas',
    edits: [
      {
        file: `${PIPELINE}/act.ts`,
        old: 'if (!isTooLarge(error)) throw error;\n    return await',
        now: 'if (!isTooLarge(error)) return [];\n    return await',
      },
    ],
  },
  {
    name: 'command-before-its-decision',
    of: 'replicas',
    edits: [
      {
        file: `${PIPELINE}/act.ts`,
        old: 'mergeStages(handled.map(({ stages }) => stages)))',
        now: 'mergeStages(handled.map(({ stages }) => stages)).toReversed())',
      },
    ],
  },
];
