import type { Decision } from '../../../schemas/events/decision.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { CommandResult } from '../../../schemas/events/result.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';
import type { EntryOf, ExplainedObject } from '../../../schemas/reports/timeline.ts';
import type { Traits } from '../../archive/inventory-objects.ts';
import { noteChange } from './object-changes.ts';
import type { WatchedNode } from './question.ts';
import { createFolding, type Folding, type Moment, type Noted, type Timeline } from './timeline.ts';
import { decidedBy, repeatable } from './verdicts.ts';

/** Follows a node as a whole, and notes on the timeline what it says and what is decided for it. */
export class NodeLife {
  readonly object: ExplainedObject;
  readonly firstSeenMs: number;
  lastSeenMs: number;
  readonly #timeline: Timeline;
  readonly #decisions = new Map<string, Folding>();
  readonly #sent = new Map<string, Noted>();
  readonly #looks: Folding;
  #traits: Traits | null = null;

  constructor(timeline: Timeline, node: WatchedNode, atMs: number) {
    const id = nodeKey(node);
    this.object = { kind: 'node', id, name: id };
    this.firstSeenMs = atMs;
    this.lastSeenMs = atMs;
    this.#timeline = timeline;
    this.#looks = createFolding(timeline);
  }

  tell(event: FleetEvent, at: Moment): void {
    this.lastSeenMs = at.loggedAtMs;
    switch (event.type) {
      case 'fleetgc.node.inventory':
        this.#look(event, at);
        break;
      case 'fleetgc.node.decision':
        this.#decide(event, at);
        break;
      case 'fleetgc.node.command-result':
        this.#answer(event, at);
        break;
      case 'fleetgc.node.pass-failed': {
        const { problem, message } = event;
        this.#timeline.note({ what: 'pass-failed', ...at, object: this.object, problem, message });
        break;
      }
      case 'fleetgc.node.pressure-unrelieved': {
        const { availableNow, holders } = event;
        this.#timeline.note({ what: 'unrelieved', ...at, object: this.object, availableNow, holders });
        break;
      }
    }
  }

  #look(inventory: Inventory, at: Moment): void {
    const { object } = this;
    const [before, now] = [this.#traits, traitsOf(inventory)];
    if (before === null) this.#timeline.note({ what: 'seen', ...at, object, how: 'first-look', traits: now });
    else noteChange(this.#timeline, { ...at, object, from: before, to: now });
    this.#traits = now;
    if (inventory.status === 'complete') this.#looks.interrupt();
    else this.#looks.note(...notSeen(inventory, object, at));
  }

  #decide(decision: Decision, at: Moment): void {
    const folding = this.#decisions.get(decision.decider.name) ?? createFolding(this.#timeline);
    this.#decisions.set(decision.decider.name, folding);
    const noted = folding.note(...concluded(decision, this.object, at));
    if (decision.outcome === 'commanded') for (const id of decision.outputIds) this.#sent.set(id, noted);
  }

  #answer({ commandId, kind, result }: CommandResult, at: Moment): void {
    this.#sent
      .get(commandId)
      ?.update((entry) => (entry.what === 'decision' ? { ...entry, answered: true } : entry));
    this.#timeline.note({ what: 'command-result', ...at, object: this.object, commandId, kind, result });
  }
}

const traitsOf = ({ nodeInstance, takenAt, runtime }: Inventory): Traits => ({
  nodeInstance,
  bootId: takenAt.bootId,
  runtime: `${runtime.name} ${runtime.version}`,
});

function notSeen(
  inventory: Exclude<Inventory, { status: 'complete' }>,
  object: ExplainedObject,
  at: Moment,
): [key: string, entry: EntryOf<'not-seen'>] {
  const problems = inventory.status === 'incomplete' ? inventory.problems : [];
  const key = [inventory.status, ...problems.map(({ code }) => code)].join(' ');
  return [key, { what: 'not-seen', ...at, object, ...repeatable(at), status: inventory.status, problems }];
}

/** Readings differ every time, so the reason is not compared. Commands stand alone. */
function concluded(
  decision: Decision,
  object: ExplainedObject,
  at: Moment,
): [key: string, entry: EntryOf<'decision'>] {
  const { outcome, policy, notBelieved, reclaim, verdicts, estimatedBytes } = decision;
  const rules = notBelieved.map(({ rule }) => rule);
  const own = outcome === 'commanded' || outcome === 'ordered' ? decision.id : '';
  return [
    [outcome, policy?.hash ?? '', own, ...rules].join(' '),
    {
      what: 'decision',
      ...at,
      object,
      ...repeatable(at),
      ...decidedBy(decision),
      removals: verdicts.filter(({ action }) => action === 'remove').length,
      estimatedBytes,
      answered: outcome === 'commanded' ? false : null,
      reclaim: reclaim && {
        id: reclaim.id,
        cause: reclaim.cause,
        target: reclaim.target,
        round: reclaim.round,
      },
    },
  ];
}
