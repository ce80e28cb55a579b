import type { PlantedBug } from '../../chaos/planted/planted.ts';

/** A bug, and the world that is to find it. */
export interface MomentaryBug extends PlantedBug {
  readonly of: 'executor' | 'replicas';
}

const EXECUTOR = 'services/node/executor';
const PIPELINE = 'packages/records';
const IN_HAND = "progressTo(work, { state: 'in-hand', since: inHand.since }, recorder);";
const REMOVES = 'const removed = await removeByKind(first.object, fresh, tools);';
const RESTRICTIONS = 'const restrictions = await tools.restrictions();';

/** Slips in the order of things, as somebody might make them: each does no harm until something comes at the wrong moment. */
export const PLANTED: readonly MomentaryBug[] = [
  {
    name: 'journal-written-after-the-removal',
    of: 'executor',
    edits: [
      { file: `${EXECUTOR}/removal/object-removal.ts`, old: IN_HAND, now: '' },
      { file: `${EXECUTOR}/removal/object-removal.ts`, old: REMOVES, now: `${REMOVES}\n  ${IN_HAND}` },
    ],
  },
  {
    name: 'in-hand-forgotten-by-a-crash',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/removal/object-work.ts`,
        old: "return progress.state === 'in-hand' ? { item: work.item, askedAt: progress.since } : null;",
        now: 'void progress;\n  return null;',
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
        file: `${EXECUTOR}/checks/judge-object.ts`,
        old: 'const reading = await tools.readFacts();',
        now: 'const restrictions = await tools.restrictions();\n  const reading = await tools.readFacts();',
      },
      {
        file: `${EXECUTOR}/checks/judge-object.ts`,
        old: `  ${RESTRICTIONS}\n  const verdict`,
        now: '  const verdict',
      },
    ],
  },
  {
    name: 'command-id-not-remembered',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/journal/journal-state.ts`,
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
        file: `${EXECUTOR}/results/publish-results.ts`,
        old: '  try {\n    await sendTraced(',
        now: '  journal.update((state) => published(state, batch.length));\n  try {\n    await sendTraced(',
      },
      {
        file: `${EXECUTOR}/results/publish-results.ts`,
        old: '  journal.update((state) => published(state, batch.length));\n  return null;',
        now: '  return null;',
      },
    ],
  },
  {
    name: 'policy-read-at-the-start-of-a-command-only',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/executor.ts`,
        old: 'const restrictions = async () => {\n',
        now: "const atStart = { commandId: '', policy: node.policy() };\n  const restrictions = async () => {\n    const commandId = journal.state().entries[0]?.command.id ?? '';\n    if (commandId !== atStart.commandId) Object.assign(atStart, { commandId, policy: node.policy() });\n",
      },
      {
        file: `${EXECUTOR}/executor.ts`,
        old: 'policy: node.policy(),\n      distrustOf,',
        now: 'policy: atStart.policy,\n      distrustOf,',
      },
    ],
  },
  {
    name: 'second-redelivery-carried-out',
    of: 'executor',
    edits: [
      {
        file: `${EXECUTOR}/handler.ts`,
        old: 'knows(journal.state(), command.id)) return;',
        now: 'forgets(journal, command.id)) return;',
      },
      {
        file: `${EXECUTOR}/handler.ts`,
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
