import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { Place } from '../events/log-position.ts';

/** What cannot be if everybody did what FleetGC promises. */
export type DeviationKind =
  /** The record is no event of its topic: no consumer takes it, and no service writes it. */
  | 'unreadable'
  /** An object in the record has a member twice, and readers differ in which of them they take. */
  | 'doubled-member'
  /** Two records have one id and different contents. */
  | 'id-reused'
  /** The id of a record does not follow from its content. */
  | 'wrong-id'
  /** The bytes that were decided on are not those on the log. */
  | 'input-changed'
  /** A record names as its input what cannot have been there: on another topic or partition, or behind the end. */
  | 'input-never-was'
  /** Deciding again gives another record. */
  | 'decided-differently'
  /** A decision under policies that `gc.policies` did not hold any more. */
  | 'policies-outdated'
  /** A decision under policies that `gc.policies` had not held by then, or never. */
  | 'policies-never-held'
  /** A record says that its message was overtaken, by what could not overtake it. */
  | 'wrongly-overtaken'
  /** A command or order is not the one that was decided, or not what follows from its command; or an inventory answers another order. */
  | 'output-differs'
  /** A command or order that was decided is not there, and the decider went on. */
  | 'output-missing'
  /** A command or order that no decision lists, or an inventory of a reclaim that no order has. */
  | 'not-decided'
  /** A command names an object that its decision did not say to remove. */
  | 'kept-object'
  /** A message was passed over: no decision, no dead letter. */
  | 'undecided'
  /** A result of a command, or about an object, that nobody commanded. */
  | 'not-commanded'
  /** A result disagrees with its command or with other results. */
  | 'result-differs'
  /** The results of a command are not all there, and its executor went on. */
  | 'result-missing'
  /** An executor changed an object of a cluster, and had not put on the log before that it would. */
  | 'not-announced'
  /** A policy or set of policies is not what its hash says. */
  | 'policy-changed'
  /** No key signed the record that had to, or it was put back; told only of who asks with a file of roots. */
  | 'not-trusted'
  /** Decisions that a signed head names are not there. As all that follows, told only of who asks with a file of roots. */
  | 'decisions-cut'
  /** Decisions are not those that a signed head names. */
  | 'decisions-rewritten'
  /** Two signed heads name the same decisions, and not as the same. */
  | 'heads-contradict'
  /** The archive has fewer lines than a signed head of it says. */
  | 'archive-cut'
  /** The archive is not what a signed head says that it was. */
  | 'archive-rewritten'
  /** A statement about a key is not there any more. */
  | 'statement-missing'
  /** A head is not there any more. */
  | 'head-missing'
  /** No head names it, where heads are required. */
  | 'no-heads';

export interface Deviation {
  readonly kind: DeviationKind;
  /** A sentence for the operator. */
  readonly message: string;
  /** `cluster/node`; `null` where the record does not tell. */
  readonly node: string | null;
  /** The record itself first, then the one that it disagrees with. */
  readonly places: readonly Place[];
}

/** Why something could not be verified, although nothing is wrong with it. */
export type GapKind =
  | 'input-gone'
  /** The same for disk statistics older than they are kept: pressure's decisions are kept much longer. */
  | 'disk-stats-gone'
  /** The topic was deleted and made anew since. */
  | 'topic-recreated'
  /** The first decisions that a head names are not there, and should still be by how long they are kept. */
  | 'decisions-gone'
  | 'unknown-decider'
  | 'unknown-policy-set'
  | 'unknown-version'
  | 'records-missing'
  /** The log took a head long before its writer wrote what it names. */
  | 'head-out-of-time'
  /** Decisions that no head names, where heads are required; their service may have ended without a word. */
  | 'without-head'
  /** The log that still lives has no head of the archive. */
  | 'archive-unknown'
  /** Objects of a command have results and it has none, although its node lived on: it may be late, or lost. */
  | 'answer-missing'
  /** An executor announced objects of a command, and no result tells what came of them. */
  | 'intent-open';

export interface Gap {
  readonly kind: GapKind;
  readonly message: string;
  readonly node: string | null;
  readonly places: readonly Place[];
}

/** An object that a node listed and then did not, without any result that says FleetGC did it. */
export interface NotOurs {
  readonly kind: ObjectKind;
  readonly id: string;
  readonly node: string;
  /** The last inventory that lists it, and the first that does not. */
  readonly places: readonly [Place, Place];
}

/** A command that expired, and of which no result says anything: whoever runs its node wants to know. */
export interface Unanswered {
  /** Whether its node published what it saw after that. */
  readonly kind: 'node-lives-on' | 'node-silent';
  readonly id: string;
  readonly node: string;
  readonly place: Place;
  /** When its node published an inventory last, by the log's clock; `null` where none was read. */
  readonly heardMs: number | null;
}

/** What is only counted. */
export interface Counts {
  /** Records read, of any topic. */
  records: number;
  bytes: number;
  inventories: number;
  diskStats: number;
  /** These and the next ones each once, however often they lie there. */
  decisions: number;
  /** Decisions that came out the same again. */
  verified: number;
  commands: number;
  orders: number;
  results: number;
  removals: number;
  /** Records that lie there more than once, with the same content. */
  duplicates: number;
  /** Commands that expired without a result of their own. */
  expired: number;
  /** Commands and orders that may still come, commands that may still be answered, messages that may still be decided. */
  open: number;
  /** Effects whose causes, or decided outputs, may have been deleted or lie before what was read, so that nobody checked them. */
  outOfRange: number;
  /** Results that agree with a command from before the range. */
  ofEarlier: number;
  /** Messages that a decider gave up, with a dead letter. */
  deadLettered: number;
  /**
   * Decisions that are as a signed head says; those that one names together with others that are not there, so that nobody can
   * compare them; and those that no head names. All are 0 for who asks without a file of roots.
   */
  headed: number;
  headedInPart: number;
  withoutHead: number;
}

export const noCounts = (): Counts => ({
  records: 0,
  bytes: 0,
  inventories: 0,
  diskStats: 0,
  decisions: 0,
  verified: 0,
  commands: 0,
  orders: 0,
  results: 0,
  removals: 0,
  duplicates: 0,
  expired: 0,
  open: 0,
  outOfRange: 0,
  ofEarlier: 0,
  deadLettered: 0,
  headed: 0,
  headedInPart: 0,
  withoutHead: 0,
});

/** Takes what is found, in the order in which it is. */
export interface Findings {
  readonly counts: Counts;
  readonly deviation: (deviation: Deviation) => void;
  readonly gap: (gap: Gap) => void;
  readonly notOurs: (object: NotOurs) => void;
  readonly unanswered: (command: Unanswered) => void;
}
