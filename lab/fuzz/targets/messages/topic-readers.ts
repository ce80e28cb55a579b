import type { Outcome } from '../../engine/target.ts';
import type { Signatories } from './claims.ts';
import type { MadeMessage } from './message.ts';

/** Reads a message as the product does that takes it from a topic. */
export type ReadMessage = (message: MadeMessage) => Outcome | Promise<Outcome>;

/** Who reads a topic, by what they are called, and events to begin with. */
export interface TopicReaders {
  readonly events: () => readonly unknown[];
  readonly readers: Readonly<Record<string, (signatories: Signatories) => ReadMessage>>;
}
