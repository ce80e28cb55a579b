import type { SubjectKind } from '../../../../schemas/events/identity.ts';
import type { TopicAbout, TopicId } from '../../../../schemas/events/topics.ts';
import { endingId } from '../../../decision/decision-record.ts';
import type { LogRecord } from '../../../log/port.ts';
import { EVENT_SCHEMAS } from '../../../records/parse/event-schemas.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import type { DecisionHead, RecordedDecision } from '../../events/recorded-decision.ts';
import { actionCounts, decidedActions } from '../clusters/decided-actions.ts';
import { noCounts } from '../findings.ts';
import { type DecidingAgain, decideAgain, type OutputEvent, type Redecided } from './decide-again.ts';
import { removableObjects, removalCounts } from './decided-removals.ts';
import type { Inputs } from './inputs.ts';

/** Something that a decision lists or gives. */
export interface Decided {
  readonly id: string;
  /** `null` where nobody could decide again. */
  readonly content: OutputEvent | null;
  /** Where it is to lie; `null` when nobody knows whether there is such a fact at all. */
  readonly topicId: TopicId | null;
  readonly decision: Place;
  readonly node: string;
  readonly decider: string;
  /** What the decision says to remove; `null` where that is not known. */
  readonly removable: ReadonlySet<string> | null;
  /** How many of each kind it says to remove, which needs no inventory; `null` where that is not known. */
  readonly removals: ReadonlyMap<string, number> | null;
}

/** All that must lie on the log after a decision. */
export function decidedBy(
  { record, subject, value, head }: RecordedDecision,
  { input: decidedOn, outputs }: Redecided,
  inputs: Inputs,
): readonly Decided[] {
  const following = FOLLOWING[subject.kind];
  const input = decidedOn && head.outcome === 'commanded' ? inputs.messageOf(decidedOn) : null;
  const common = {
    decision: placeOf(record),
    node: subject.key,
    decider: head.decider.name,
    removable: input?.ok ? following.removable(value, input.event) : null,
    removals: outputs === null && head.outputIds.length > 0 ? following.removals(value) : null,
  };
  if (outputs !== null)
    return outputs.map((content) => ({
      ...common,
      id: content.id,
      content,
      topicId: topicOf(subject.kind, content.type),
    }));
  const topicId = following.listedBy(head);
  const listed = head.outputIds.map((id) => ({ ...common, id, content: null, topicId }) as const);
  const ending = { ...common, id: endingId(head.id), content: null, topicId: null };
  return subject.kind === 'node' ? [...listed, ending] : listed;
}

interface Following<Kind extends SubjectKind> {
  /** Where what follows from a decision may lie, beside its record or elsewhere. */
  readonly topics: readonly TopicAbout<Kind>[];
  /** Where that lies which a decision lists. */
  readonly listedBy: (head: DecisionHead) => TopicAbout<Kind>;
  /** What a decision says to do by what it was made on, and how often it says to do what; `null` where that cannot be read. */
  readonly removable: (decision: unknown, input: unknown) => ReadonlySet<string> | null;
  readonly removals: (decision: unknown) => ReadonlyMap<string, number> | null;
}

const FOLLOWING: { readonly [Kind in SubjectKind]: Following<Kind> } = {
  node: {
    topics: ['commands', 'observe', 'decisions'],
    listedBy: ({ outcome }) => (outcome === 'commanded' ? 'commands' : 'observe'),
    removable: removableObjects,
    removals: removalCounts,
  },
  cluster: {
    topics: ['clusterCommands'],
    listedBy: () => 'clusterCommands',
    removable: decidedActions,
    removals: actionCounts,
  },
};

/** `null` for what no decider of this release gives. */
const topicOf = (kind: SubjectKind, type: string): TopicId | null =>
  FOLLOWING[kind].topics.find((topicId) => EVENT_SCHEMAS[topicId].versionsOf(type).length > 0) ?? null;

/**
 * Decisions from right before the range: what follows from them may lie in it, and is compared with what they give. Only those
 * of which that is so are decided again, and none is counted.
 */
export class EarlierDecisions {
  readonly #causes = new Map<string, RecordedDecision>();
  readonly #uncounted: DecidingAgain;

  constructor(parts: DecidingAgain) {
    this.#uncounted = { ...parts, findings: { ...parts.findings, counts: noCounts() } };
  }

  decided(decision: RecordedDecision): void {
    const { id, outputIds } = decision.head;
    for (const output of [...outputIds, endingId(id)]) this.#causes.set(output, decision);
  }

  /** What such a decision gives under this id; nothing where none does. */
  async giving(id: string): Promise<readonly Decided[]> {
    const decision = this.#causes.get(id);
    if (decision === undefined) return [];
    this.#causes.delete(id);
    const again = await decideAgain(decision, this.#uncounted);
    return decidedBy(decision, again, this.#uncounted.inputs).filter((decided) => decided.id === id);
  }
}

/** Most decisions give nothing, and those need not be parsed. The fact that a reclaim ended is not among the listed ids. */
export const mayHaveOutputs = ({ value }: LogRecord): boolean =>
  value !== null && !(value.includes('"outputIds":[]') && value.includes('"reclaim":null'));
