import type { OwnerFound } from '../../schemas/events/cluster-result.ts';
import type { ReferenceState } from '../../schemas/events/ownership.ts';
import type {
  ClusterEntryOf,
  ClusterTimelineEntry,
  ExplainedOwner,
  ObjectLife,
} from '../../schemas/reports/cluster-explanation.ts';
import { counted } from '../text/counted.ts';
import { timeText } from '../text/time-text.ts';
import { type EntryText, factsText, repeatedText } from './facts.ts';

/** The answer in a sentence, before the whole story. */
export function outcomeText({ state, timeline, lastMs }: ObjectLife): string {
  switch (state) {
    case 'there':
      return `there when it was told last (${timeText(lastMs)})${verdictOf(timeline)}.`;
    case 'settled':
      return 'nothing has to be done about it.';
    case 'being-deleted':
      return `deleted by FleetGC${causeOf(timeline)}; finalizers or its grace hold it.`;
    case 'removed':
      return `deleted by FleetGC${causeOf(timeline)}.`;
    case 'gone':
      return 'gone, and not deleted by FleetGC as far as the event log tells.';
  }
}

function verdictOf(timeline: readonly ClusterTimelineEntry[]): string {
  const last = timeline.findLast((entry) => entry.what === 'verdict');
  if (last?.what !== 'verdict') return '; nothing was decided about it';
  return `; ${clusterEntryText(last).word}: ${clusterRuleText(last)}`;
}

function causeOf(timeline: readonly ClusterTimelineEntry[]): string {
  const last = timeline.findLast((entry) => entry.what === 'command');
  return last?.what === 'command' ? `, since ${last.because} (${last.rule})` : '';
}

/** One line of the life of an object of a cluster. */
export function clusterEntryText(entry: ClusterTimelineEntry): EntryText {
  switch (entry.what) {
    case 'candidate':
      return { word: CANDIDATE_WORDS[entry.how], text: candidateText(entry) };
    case 'owner':
      return { word: 'owner', text: `${owningText(entry)}${repeatedText(entry)}` };
    case 'verdict':
      return verdictText(entry);
    case 'command':
      return { word: 'command', text: commandText(entry) };
    case 'result':
      return resultText(entry);
    case 'settled':
      return settledText(entry);
  }
}

const CANDIDATE_WORDS: Readonly<Record<ClusterEntryOf<'candidate'>['how'], string>> = {
  first: 'candidate',
  changed: 'changed',
  again: 'back',
};

/** Why it was told: its owners, or its time, or what became of it as a pod. */
function candidateText(entry: ClusterEntryOf<'candidate'>): string {
  const { owners, finalizers, keptBy, isBeingDeleted, facts } = entry;
  return [
    ...(isBeingDeleted ? ['being deleted'] : []),
    ...owners.map(ownerText),
    ...(finalizers.length === 0 ? [] : [`finalizers ${finalizers.join(', ')}`]),
    ...(keptBy === null
      ? []
      : [`kept by the annotation of its ${keptBy === 'object' ? 'own' : 'namespace'}`]),
    factsText(facts),
  ]
    .filter((text) => text !== '')
    .join('; ');
}

const ownerText = ({ kind, name, uid, state, gone }: ExplainedOwner): string =>
  `owner ${kind} ${name} (${uid}) ${stateText(state, gone)}`;

/** How an owner stands that an object names. */
export const OWNER_STATES: Readonly<Record<ReferenceState, string>> = {
  held: 'is there',
  waiting: 'waits for its dependents to go',
  orphaning: 'goes without its dependents',
  gone: 'is gone',
  unseen: 'was never seen',
  elsewhere: 'is another object than it says',
  unlisted: 'is of a kind that cannot be listed',
  unresolved: 'is of a kind that is not served, or not for sure',
  scope: 'has a namespace, and its dependent has none',
  pending: 'is not known yet',
};

/** How it went, as far as the agent saw it. */
const HOW: Readonly<Record<NonNullable<ExplainedOwner['gone']>['how'], string>> = {
  watched: 'the watch told its deletion',
  relisted: 'a complete list lacked it',
  'mass-relisted': 'a list lacked it and half of its kind',
  'kind-going': 'its definition was being deleted',
};

const stateText = (state: ReferenceState, gone: ExplainedOwner['gone']): string =>
  gone === null
    ? OWNER_STATES[state]
    : `${OWNER_STATES[state]}: ${HOW[gone.how]}${gone.orphaned ? ', so that its dependents stay' : ''}`;

const owningText = ({ state, gone, dependents }: ClusterEntryOf<'owner'>): string =>
  `of ${counted(dependents, 'object')}; it ${stateText(state, gone)}`;

function verdictText(entry: ClusterEntryOf<'verdict'>): EntryText {
  const { action, outcome, policy } = entry;
  const under = policy === null ? '' : ` under policy ${policy.name}, version ${policy.version}`;
  const text = `${clusterRuleText(entry)}${under}${repeatedText(entry)}`;
  if (action === 'keep') return { word: 'kept', text };
  if (action === 'hold') return { word: 'held', text: `${text}${HELD_BUT[outcome] ?? ''}` };
  return OUTCOMES[outcome]?.(text) ?? { word: 'to go', text: `${DOES[action]}: ${text}` };
}

type Outcome = ClusterEntryOf<'verdict'>['outcome'];

const OUTCOMES: Readonly<Partial<Record<Outcome, (text: string) => EntryText>>> = {
  'dry-run': (text) => ({ word: 'dry run', text: `would go: ${text}` }),
  'not-ours': (text) => ({
    word: 'not ours',
    text: `would go: ${text}; the policy does not give it to FleetGC`,
  }),
};

const HELD_BUT: Readonly<Partial<Record<Outcome, string>>> = {
  'not-ours': '; the policy does not give it to FleetGC, so another collector may delete it',
};

/** The rule in words, its number, and what it used. Where no policy holds, the decision says why. */
function clusterRuleText({ because, rule, facts, outcome, reason }: ClusterEntryOf<'verdict'>): string {
  if (outcome === 'no-policy' || outcome === 'paused') return reason;
  const used = factsText(facts);
  return `${because} (${rule}${used === '' ? '' : `: ${used}`})`;
}

const DOES: Readonly<Record<ClusterEntryOf<'command'>['action'], string>> = {
  delete: 'delete it',
  expire: 'delete it',
  'remove-pod': 'remove the pod',
  'drop-references': 'take references to owners away',
  finish: 'take its finalizer away',
};

function commandText(entry: ClusterEntryOf<'command'>): string {
  const { action, rule, propagation, ownRule, lifetimeMs, answered } = entry;
  const how = propagation === null ? '' : `, ${propagation}`;
  const by = ownRule === null ? '' : `, by the policy's rule ${ownRule}`;
  const answer = answered ? '' : '; the event log has no answer to it';
  return `${DOES[action]}${how} (${rule})${by} within ${lifetimeMs / 1_000} s${answer}`;
}

const RESULT_WORDS: Readonly<Record<ClusterEntryOf<'result'>['outcome'], string>> = {
  removed: 'removed',
  accepted: 'deleted',
  patched: 'patched',
  'not-found': 'not found',
  rehearsed: 'rehearsed',
  refused: 'refused',
  failed: 'failed',
};

const RESULTS: Readonly<Record<ClusterEntryOf<'result'>['outcome'], string>> = {
  removed: 'deleted by FleetGC',
  accepted: 'deleted by FleetGC; finalizers or its grace hold it',
  patched: 'changed by FleetGC',
  'not-found': 'it was gone already',
  rehearsed: 'the API server would do it, and did nothing',
  refused: 'nothing was done',
  failed: 'it could not be done',
};

function resultText(entry: ClusterEntryOf<'result'>): EntryText {
  const { outcome, wholeCommand, message, reason, rule, owners, node, requests } = entry;
  const said = message === null ? RESULTS[outcome] : `${message}${reason === null ? '' : ` (${reason})`}`;
  const text = [
    `${wholeCommand ? 'the whole command: ' : ''}${said}${rule === null ? '' : ` (${rule})`}`,
    ...owners.map(({ uid, found }) => `owner ${uid} ${FOUND[found]}`),
    ...(node === null ? [] : [`node ${node.name} ${FOUND_NODE[node.found]}`]),
    ...(requests === 0 ? [] : [counted(requests, 'request')]),
  ];
  return { word: RESULT_WORDS[outcome], text: text.join('; ') };
}

/** As the executor read them right before. */
const FOUND: Readonly<Record<OwnerFound, string>> = {
  absent: 'was not there',
  waiting: 'waited for its dependents',
  orphaning: 'went without its dependents',
  there: 'was there',
};

const FOUND_NODE: Readonly<Record<NonNullable<ClusterEntryOf<'result'>['node']>['found'], string>> = {
  absent: 'was not there',
  there: 'was there',
  'out-of-service': 'was out of service',
};

const settledText = ({ how, byFleetGc }: ClusterEntryOf<'settled'>): EntryText =>
  how === 'no-candidate'
    ? { word: 'settled', text: 'nothing has to be done about it any more' }
    : { word: 'gone', text: byFleetGc ? 'as FleetGC deleted it' : 'not deleted by FleetGC' };
