import { EventLogOptions, openEventLog } from '../../../packages/log/open.ts';
import { silentContext, subscriptionOf } from './probe.ts';

/**
 * A member that takes a slice and never ends it, to be killed: `node member-process.ts <options> <group>`. Prints
 * `took <value>` for each record.
 */
const [options = '', group = ''] = process.argv.slice(2);
const log = await openEventLog(EventLogOptions.parse(JSON.parse(options)), silentContext());
await log.subscribe(subscriptionOf({ group }), async (records) => {
  for (const record of records) process.stdout.write(`took ${record.value}\n`);
  await new Promise(() => undefined);
});
