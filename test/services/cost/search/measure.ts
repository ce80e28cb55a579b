/**
 * `node test/services/cost/search/measure.ts`: finds the worst input of each surface, and measures it in a process of its own: time of
 * a processor, the least of five runs, and by how much the process grew. Both contain the making of the input.
 */
import { execFileSync } from 'node:child_process';
import { z } from 'zod';
import { type Surface, worstOf } from './climb.ts';
import { SURFACES } from './surfaces.ts';

const ROUNDS = 150;
const RUNS = 5;
const [at, genome] = process.argv.slice(2);

function measured({ stepsOf }: Surface, text: string): string {
  const worst = z.record(z.string(), z.number()).parse(JSON.parse(text));
  const { maxRSS: beforeKb } = process.resourceUsage();
  const runs = Array.from({ length: RUNS }, () => {
    const began = process.cpuUsage();
    stepsOf(worst);
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1_000;
  });
  const { maxRSS } = process.resourceUsage();
  return `${Math.min(...runs).toFixed(0)} ms, ${((maxRSS - beforeKb) / 1_024).toFixed(0)} MiB`;
}

const chosen = SURFACES[Number(at)];
if (chosen !== undefined && genome !== undefined) process.stdout.write(measured(chosen, genome));
else
  for (const [index, surface] of SURFACES.entries()) {
    const worst = worstOf(surface, ROUNDS);
    const args = [import.meta.filename, String(index), JSON.stringify(worst.genome)];
    const told = execFileSync(process.execPath, args, { encoding: 'utf8' });
    process.stdout.write(`${surface.name}: ${worst.steps} of ${surface.bound} steps, ${told}\n`);
  }
