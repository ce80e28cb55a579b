/**
 * Runs in a container on the network of the compose example: waits until every service named by the arguments is ready,
 * and until a removal by each of those that are nodes lies on the event log. Whoever starts it bounds its time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadEvent } from '../../packages/log/port.ts';
import { ObjectResult } from '../../schemas/events/result.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { openComposeLog } from './compose-log.ts';

const POLL_MS = 250;
const services = process.argv.slice(2);

await Promise.all(services.map(ready));
process.stdout.write('all services are ready\n');
await removalsBy(new Set(services.filter((name) => name.startsWith('node-'))));

async function ready(service: string): Promise<void> {
  while (!(await answersReady(service))) await sleep(POLL_MS);
}

async function answersReady(service: string): Promise<boolean> {
  try {
    return (await fetch(`http://${service}:9640/readyz`)).ok;
  } catch {
    return false;
  }
}

async function removalsBy(missing: Set<string>): Promise<void> {
  await using log = await openComposeLog('compose-probe');
  for await (const event of log.read({ topic: TOPICS.results.name, from: 'earliest', to: 'forever' })) {
    const node = removedOn(event);
    if (node !== null && missing.delete(node)) process.stdout.write(`${node} removed something\n`);
    if (missing.size === 0) return;
  }
}

function removedOn(event: ReadEvent): string | null {
  if (event.kind !== 'record') return null;
  const result = ObjectResult.safeParse(JSON.parse(event.record.value?.toString('utf8') ?? 'null'));
  return result.data?.result.outcome === 'removed' ? result.data.node : null;
}
