import { sizeText } from '../../packages/text/size-text.ts';
import type { FleetRun, RunningFleet } from './fleet-run.ts';

/** One line on how a run goes. */
export function progressLine(
  run: FleetRun,
  { living, books, members, published }: RunningFleet,
  startedMs: number,
): string {
  const nowMs = living.time.now();
  const realMs = run.process.sources.monotonicNow() - startedMs;
  const topics = Object.values(published());
  const events = topics.reduce((sum, one) => sum + one.events, 0);
  const bytes = topics.reduce((sum, one) => sum + one.bytes, 0);
  const { commands, outcomes } = books.commanded.counts();
  const { wrong, twice } = books.removals();
  const { nodes, unrelieved } = books.pressures.counts();
  const rate = nowMs / realMs;
  return [
    `${Math.round(nowMs / 1000)} s lived by ${members.filter((member) => member.isRunning()).length} nodes at ${rate.toFixed(2)}x${rate < run.rate * 0.98 ? ` (asked: ${run.rate}x, this machine is too slow)` : ''}`,
    `${events} events, ${sizeText(BigInt(bytes))}`,
    `${commands.received} commands, ${commands.received - commands.answered} open, ${outcomes.removed ?? 0} removed, ${wrong} wrong, ${twice} twice`,
    `${unrelieved} of ${nodes} full disks not relieved`,
  ].join('; ');
}
