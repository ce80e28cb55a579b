import { kindName } from '../../schemas/events/cluster-objects.ts';
import type { OwnerFound } from '../../schemas/events/cluster-result.ts';
import type { ReferenceState } from '../../schemas/events/ownership.ts';
import type {
  ClusterCandidate,
  ClusterEntryOf,
  ClusterExplanation,
  ClusterExplanationLine,
  ClusterTimelineEntry,
  ExplainedOwner,
  ObjectLife,
  ObjectName,
} from '../../schemas/reports/cluster-explanation.ts';
import { counted } from '../text/counted.ts';
import { jsonLines } from '../text/json-text.ts';
import { printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import { nameOf } from './cluster.ts';
import { CLOCKS_APART_MS, type EntryText, factsText, repeatedText } from './explanation.ts';
import { tableLines } from './text.ts';

type Explained = Extract<ClusterExplanation, { status: 'explained' }>;

/** For people. Names come from elsewhere and are made harmless. */
export function clusterExplanationLines(explanation: ClusterExplanation): readonly string[] {
  switch (explanation.status) {
    case 'explained':
      return explainedLines(explanation).map(printableLine);
    case 'ambiguous':
      return candidateLines(explanation.candidates).map(printableLine);
    case 'not-found':
      return [];
  }
}

const explainedLines = (explained: Explained): readonly string[] => [
  headText(explained),
  readingText(explained),
  ...explained.lives.flatMap((life) => ['', ...lifeLines(life)]),
];

function headText({ subject, lives }: Explained): string {
  const name = `${kindName(subject)} ${nameOf(subject)} of cluster ${subject.cluster}`;
  return lives.length === 1
    ? name
    : `${name}: ${counted(lives.length, 'object')} had this name, one after the other`;
}

function readingText({ reading: { firstRecordMs, lastRecordMs }, lives }: Explained): string {
  const span =
    firstRecordMs === null || lastRecordMs === null
      ? ''
      : `, which was read from ${timeText(firstRecordMs)} to ${timeText(lastRecordMs)}`;
  const cluster = lives.some(({ timeline }) => timeline.some(isApart))
    ? ` [cluster: …] is the API server's own clock, where it says otherwise or the record came late.`
    : '';
  return `Times are UTC by the clock of the event log${span}.${cluster}`;
}

const lifeLines = (life: ObjectLife): readonly string[] => [
  `uid ${life.uid}: ${outcomeText(life)}`,
  ...tableLines(['TIME', 'WHAT', ''], life.timeline.map(rowOf)),
];

function rowOf(entry: ClusterTimelineEntry): readonly string[] {
  const { word, text } = clusterEntryText(entry);
  return [timeText(entry.loggedAtMs), word, `${text}${clusterTimeText(entry)}`];
}

const isApart = ({ loggedAtMs, clusterTimeMs }: ClusterTimelineEntry): boolean =>
  clusterTimeMs !== null && Math.abs(loggedAtMs - clusterTimeMs) > CLOCKS_APART_MS;

const clusterTimeText = (entry: ClusterTimelineEntry): string =>
  isApart(entry) && entry.clusterTimeMs !== null ? ` [cluster: ${timeText(entry.clusterTimeMs)}]` : '';

/** The answer in a sentence, before the whole story. */
function outcomeText({ state, timeline, lastMs }: ObjectLife): string {
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

const STATE_WORDS: Readonly<Record<ObjectLife['state'], string>> = {
  there: 'there',
  settled: 'settled',
  'being-deleted': 'being deleted',
  removed: 'removed',
  gone: 'gone',
};

/** What to ask for instead, as the first column. */
const candidateLines = (candidates: readonly ClusterCandidate[]): readonly string[] =>
  tableLines(
    ['ASK FOR', 'CLUSTER', 'UID', 'FIRST TOLD', 'LAST TOLD', 'NOW'],
    candidates.map((candidate) => [
      askFor(candidate),
      candidate.cluster,
      candidate.uid,
      timeText(candidate.firstMs),
      timeText(candidate.lastMs),
      STATE_WORDS[candidate.state],
    ]),
  );

const askFor = (name: ObjectName): string => `${kindName(name)}/${nameOf(name)}`;

/** For programs, a line for each entry of each life or each thing that may be meant. */
export function clusterExplanationNdjson(explanation: ClusterExplanation): string {
  return jsonLines(linesOf(explanation));
}

function linesOf(explanation: ClusterExplanation): readonly ClusterExplanationLine[] {
  const { asked } = explanation;
  switch (explanation.status) {
    case 'explained':
      return explanation.lives.flatMap(({ timeline, ...life }) =>
        timeline.map(
          (entry): ClusterExplanationLine => ({
            type: 'fleetgc.cluster-timeline-entry',
            version: 1,
            asked,
            subject: { ...explanation.subject, ...life },
            entry,
          }),
        ),
      );
    case 'ambiguous':
      return explanation.candidates.map((candidate) => ({
        type: 'fleetgc.cluster-candidate',
        version: 1,
        asked,
        candidate,
      }));
    case 'not-found':
      return [];
  }
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

const STATES: Readonly<Record<ReferenceState, string>> = {
  held: 'is there',
  waiting: 'waits for its dependents to go',
  orphaning: 'goes without its dependents',
  gone: 'went',
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
    ? STATES[state]
    : `${STATES[state]}: ${HOW[gone.how]}${gone.orphaned ? ', so that its dependents stay' : ''}`;

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
