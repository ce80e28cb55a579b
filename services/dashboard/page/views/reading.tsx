import type { ComponentChildren } from 'preact';
import { countText } from '../texts.ts';

/** How a reading stands, as the API tells it. */
type Stands<Value> =
  | { readonly state: 'waiting'; readonly ahead: number }
  | { readonly state: 'reading'; readonly done: number; readonly of: number; readonly records: number }
  | { readonly state: 'read'; readonly readAtMs: number; readonly value: Value }
  | { readonly state: 'failed'; readonly problem: string };

/** A reading of the log that may take minutes: how far it is, and then what was read. */
export function Reading<Value>({
  reading,
  onStop,
  children,
}: {
  readonly reading: Stands<Value>;
  readonly onStop: () => void;
  readonly children: (value: Value, readAtMs: number) => ComponentChildren;
}) {
  switch (reading.state) {
    case 'read':
      return <>{children(reading.value, reading.readAtMs)}</>;
    case 'failed':
      return (
        <p class="bad" role="alert">
          {reading.problem}
        </p>
      );
    case 'waiting':
    case 'reading':
      return (
        <div class="reading">
          <p role="status">
            {reading.state === 'waiting'
              ? `It waits for its turn. Before it: ${countText(reading.ahead)}.`
              : 'The event log is read for it.'}
          </p>
          <progress
            aria-label="How much of the event log is read"
            max={1}
            value={reading.state === 'waiting' || reading.of === 0 ? 0 : reading.done / reading.of}
          />
          {reading.state === 'waiting' ? null : (
            <p class="quiet">
              {Math.floor(reading.done)} of {reading.of} parts, {countText(reading.records)} records
            </p>
          )}
          <button type="button" onClick={onStop}>
            Stop
          </button>
        </div>
      );
  }
}
