import type { Decision } from '../../../schemas/events/decision.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { CommandResult } from '../../../schemas/events/result.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';
import type { EntryOf, ExplainedObject } from '../../../schemas/reports/timeline.ts';
import { noteChange } from './listed.ts';
import type { Traits } from './seen-objects.ts';
import { createFolding, type Folding, type Moment, type Noted, type Timeline } from './timeline.ts';
import { decidedBy, repeatable } from './verdicts.ts';

/** What is known so far of a node as a whole. */
export interface NodeLife {
  readonly tell: (event: FleetEvent, at: Moment) => void;
}

export function createNodeLife(timeline: Timeline, object: ExplainedObject): NodeLife {
  const decisions = new Map<string, Folding>();
  const sent = new Map<string, Noted>();
  const looks = createFolding(timeline);
  let traits: Traits | null = null;

  const look = (inventory: Inventory, at: Moment): void => {
    const now = traitsOf(inventory);
    if (traits === null) timeline.note({ what: 'seen', ...at, object, how: 'first-look', traits: now });
    else noteChange(timeline, { ...at, object, from: traits, to: now });
    traits = now;
    if (inventory.status === 'complete') looks.interrupt();
    else looks.note(...notSeen(inventory, object, at));
  };
  const decide = (decision: Decision, at: Moment): void => {
    const folding = decisions.get(decision.decider.name) ?? createFolding(timeline);
    decisions.set(decision.decider.name, folding);
    const noted = folding.note(...concluded(decision, object, at));
    if (decision.outcome === 'commanded') for (const id of decision.outputIds) sent.set(id, noted);
  };
  const answer = ({ commandId, kind, result }: CommandResult, at: Moment): void => {
    sent
      .get(commandId)
      ?.update((entry) => (entry.what === 'decision' ? { ...entry, answered: true } : entry));
    timeline.note({ what: 'command-result', ...at, object, commandId, kind, result });
  };

  return {
    tell: (event, at) => {
      switch (event.type) {
        case 'fleetgc.node.inventory':
          look(event, at);
          break;
        case 'fleetgc.node.decision':
          decide(event, at);
          break;
        case 'fleetgc.node.command-result':
          answer(event, at);
          break;
        case 'fleetgc.node.pass-failed': {
          const { problem, message } = event;
          timeline.note({ what: 'pass-failed', ...at, object, problem, message });
          break;
        }
        case 'fleetgc.node.pressure-unrelieved': {
          const { availableNow, holders } = event;
          timeline.note({ what: 'unrelieved', ...at, object, availableNow, holders });
          break;
        }
      }
    },
  };
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
