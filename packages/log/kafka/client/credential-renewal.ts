import { pause } from '../../../process/backoff.ts';
import { toFleetGcError } from '../../../process/errors.ts';
import { withAdmin } from './admin.ts';
import type { KafkaConnection } from './kafka-connection.ts';
import { secretsOf } from './options.ts';

/** How often files with secrets are looked at; the wait differs by half, so that a fleet does not come back in step. */
const LOOK_EVERY_MS = 10_000;

/** The parts of the process that a test replaces. */
export interface Renewal {
  readonly connection: KafkaConnection;
  readonly lookEveryMs?: number;
}

/** What the files hold; `null` while one is away, as in the middle of its replacement. */
function secretsNow({ options, context }: KafkaConnection): string | null {
  try {
    return secretsOf(options);
  } catch (error) {
    context.logger.debug({ err: toFleetGcError(error) }, 'a file with a secret cannot be read');
    return null;
  }
}

/** Whether the brokers let somebody in who comes with what the files hold now. */
async function isLetIn({ options, context }: KafkaConnection, trial: KafkaConnection): Promise<boolean> {
  try {
    await withAdmin(options, context, async () => undefined);
    trial.reached();
    return true;
  } catch (error) {
    trial.explain(error);
    return false;
  }
}

/**
 * When certificates, keys or the password were replaced, all connections are made anew with them, until `closing` aborts. They are
 * tried first: while the brokers refuse them those that stand go on, and health says so.
 */
export async function renewConnections(
  { connection, lookEveryMs = LOOK_EVERY_MS }: Renewal,
  closing: AbortSignal,
): Promise<void> {
  const { options, context, clients } = connection;
  if (options.ssl === undefined && options.sasl === undefined) return;
  let used = secretsNow(connection);
  while (!closing.aborted) {
    await pause(lookEveryMs * (0.5 + context.random()), closing);
    const found = secretsNow(connection);
    if (closing.aborted || found === null || found === used) continue;
    if (!(await untilLetIn({ connection, lookEveryMs }, closing))) continue;
    used = found;
    context.logger.info('certificates or passwords were replaced: connections are made anew');
    for (const client of clients) client.cutConnections();
  }
}

/** False when it was told to stop before. */
async function untilLetIn(
  { connection, lookEveryMs }: Required<Renewal>,
  closing: AbortSignal,
): Promise<boolean> {
  using trial = connection.forClient('new certificate or password');
  while (!closing.aborted) {
    if (await isLetIn(connection, trial)) return !closing.aborted;
    await pause(lookEveryMs * (0.5 + connection.context.random()), closing);
  }
  return false;
}
