import type { TestContext } from 'vitest';
import type { EventLogOptions } from '../../../../packages/log/open.ts';
import type {
  ActiveSubscription,
  EventLog,
  EventLogContext,
  LogPosition,
  SliceHandler,
  Subscription,
} from '../../../../packages/log/port.ts';
import type { TopicName } from '../../../../schemas/events/topics.ts';

/** An event log to be tested: where it is, and what only its own tools can do. */
export interface LogUnderTest extends AsyncDisposable {
  readonly options: EventLogOptions;
  /** Adds partitions to a topic behind our back. */
  addPartitions(topic: TopicName, total: number): Promise<void>;
  /** Deletes a topic with all it holds, behind our back. */
  deleteTopic(topic: TopicName): Promise<void>;
  /** Longer than a member may be silent before its group is given to another. */
  readonly sessionMs: number;
}

/** The log under test, as its tests use it. */
export interface TriedLog {
  readonly subject: LogUnderTest;
  readonly log: EventLog;
  /** Opens it once more; it is closed after the last test. */
  open(over?: Partial<EventLogContext>): Promise<EventLog>;
  publishTexts(key: string, texts: readonly string[], topic?: TopicName): Promise<readonly LogPosition[]>;
}

/** Groups need time to form and to notice a death. */
export const PATIENCE_MS = 30_000;

/** A subscription that ends with its test. */
export async function serve(
  context: TestContext,
  log: EventLog,
  subscription: Subscription,
  handle: SliceHandler,
): Promise<ActiveSubscription> {
  const active = await log.subscribe(subscription, handle);
  context.onTestFinished(() => active.stop());
  return active;
}
