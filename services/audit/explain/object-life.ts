import { removedBecause } from '../../../packages/decision/rule-text.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { CommandResult, ObjectResult } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { TimelineEntry } from '../../../schemas/reports/timeline.ts';
import type { ObjectLife } from './life-state.ts';
import { noteListing, noteUse } from './listed.ts';
import type { SeenObject } from './seen-objects.ts';
import type { Moment } from './timeline.ts';
import { noteVerdict } from './verdicts.ts';

/** A look that was complete. */
export interface Look {
  readonly inventory: CompleteInventory;
  /** No complete one of the node was read before. */
  readonly isFirst: boolean;
}

/** The object is listed. */
export function listed(life: ObjectLife, now: SeenObject, { inventory, isFirst }: Look, at: Moment): void {
  life.sightings.set(inventory.id, { position: now.position, users: now.use?.users ?? [] });
  if (life.removedAt !== null && isBefore(inventory.takenAt, life.removedAt)) return;
  life.object = now.object;
  life.nodeInstance = inventory.nodeInstance;
  life.lastSeenMs = at.loggedAtMs;
  const isBack = life.state !== 'there';
  life.state = 'there';
  life.removedAt = null;
  life.gone = null;
  noteListing(life, now, { ...at, how: isBack ? 'again' : isFirst ? 'first-look' : 'new' });
  noteUse(life, now, at);
  life.seen = now;
}

/** Of one boot; looks of another boot are never older than what was done before it. */
const isBefore = (a: Instant, b: Instant): boolean => a.bootId === b.bootId && a.sinceBootMs < b.sinceBootMs;

/** A complete inventory does not list it. */
export function notListed(life: ObjectLife, { nodeInstance }: CompleteInventory, at: Moment): void {
  if (life.state !== 'there') return;
  life.state = 'gone';
  life.seen = null;
  life.folding.interrupt();
  life.gone = life.timeline.note({
    what: 'gone',
    ...at,
    object: life.object,
    commandOpen: life.openCommands.size > 0,
    otherInstance: nodeInstance !== life.nodeInstance,
  });
}

/** Decisions about inventories that do not list the object say nothing of it. */
export function decided(life: ObjectLife, decision: Decision, at: Moment): void {
  const sighting = life.sightings.get(decision.input.id);
  if (sighting !== undefined) noteVerdict(life, sighting, { decision, at });
}

export function commanded(life: ObjectLife, command: Command, at: Moment): void {
  const { kind, id } = life.object;
  const item = command.items.find((candidate) => candidate.kind === kind && candidate.id === id);
  if (item === undefined || life.commands.has(command.id)) return;
  const expectedBytes = item.kind === 'image' ? item.estimatedBytes : null;
  const noted = life.timeline.note({
    what: 'command',
    ...at,
    object: life.object,
    commandId: command.id,
    rule: item.rule,
    because: removedBecause(item.rule),
    expectedBytes,
    lifetimeMs: command.lifetimeMs,
    answered: false,
  });
  life.commands.set(command.id, { noted, expectedBytes });
  life.openCommands.add(command.id);
}

const MADE_IT_GO: ReadonlySet<string> = new Set(['removed', 'not-found']);

/** What became of it by a command. */
export function resulted(life: ObjectLife, event: ObjectResult, at: Moment): void {
  const { commandId, rule, result } = event;
  const { outcome } = result;
  note(life, commandId, {
    what: 'result',
    ...at,
    object: life.object,
    commandId,
    wholeCommand: false,
    outcome,
    rule,
    reason: 'reason' in result ? result.reason : null,
    message: 'message' in result ? result.message : null,
    expectedBytes: life.commands.get(commandId)?.expectedBytes ?? null,
    measured: outcome === 'removed' ? result.measured : null,
  });
  if (!MADE_IT_GO.has(outcome)) return;
  if (outcome === 'removed') life.gone?.update(() => null);
  life.state = outcome === 'removed' ? 'removed' : 'gone';
  life.seen = null;
  life.removedAt = event.at;
  life.folding.interrupt();
}

/** A command that named it was not carried out at all. */
export function refused(life: ObjectLife, event: CommandResult, at: Moment): void {
  const sent = life.commands.get(event.commandId);
  if (sent === undefined || event.result.outcome !== 'refused') return;
  const { reason, message } = event.result;
  note(life, event.commandId, {
    what: 'result',
    ...at,
    object: life.object,
    commandId: event.commandId,
    wholeCommand: true,
    outcome: 'refused',
    rule: null,
    reason,
    message,
    expectedBytes: sent.expectedBytes,
    measured: null,
  });
}

function note(life: ObjectLife, commandId: string, entry: TimelineEntry): void {
  life.commands
    .get(commandId)
    ?.noted.update((sent) => (sent.what === 'command' ? { ...sent, answered: true } : sent));
  life.openCommands.delete(commandId);
  life.timeline.note(entry);
}
