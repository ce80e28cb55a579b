import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { clusterObjectAddress } from './addresses.ts';
import type { Answered } from './asking.ts';
import { countText, kindText, nameText } from './texts.ts';

/** In the reader's zone, and in UTC beside it. A clock may tell what is no time. */
export function Time({ ms }: { readonly ms: number }) {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return <>{ms} ms</>;
  return (
    <time dateTime={at.toISOString()}>
      {at.toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' })}{' '}
      <span class="utc">{at.toISOString().slice(11, 19)} UTC</span>
    </time>
  );
}

/** What was answered, or why not. */
export function Shown<Value>({
  answered,
  children,
}: {
  readonly answered: Answered<Value>;
  readonly children: (value: Value) => ComponentChildren;
}) {
  if (answered.kind === 'answered') return <>{children(answered.value)}</>;
  if (answered.kind === 'waiting') return <p class="waiting">Reading …</p>;
  return (
    <p class="bad" role="alert">
      {answered.problem}
    </p>
  );
}

/** A part of a view that its heading names. */
export const Section = ({
  id,
  heading,
  children,
}: {
  readonly id: string;
  readonly heading: ComponentChildren;
  readonly children: ComponentChildren;
}) => (
  <section aria-labelledby={id}>
    <h2 id={id}>{heading}</h2>
    {children}
  </section>
);

/** One of several, each as a value and as it is called. */
export const Select = ({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: ComponentChildren])[];
  readonly onChange: (value: string) => void;
}) => (
  <label>
    {label}
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

/** A text to look for, such as a part of a name. */
export const SearchField = ({
  label,
  value,
  onInput,
  ...limits
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly required?: boolean;
}) => (
  <label>
    {label}
    <input
      type="search"
      value={value}
      maxLength={200}
      {...limits}
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
    />
  </label>
);

/** An object of a cluster, by its own page. */
export const ObjectLink = ({
  cluster,
  object,
}: {
  readonly cluster: string;
  readonly object: {
    readonly uid: string;
    readonly group: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  };
}) => (
  <a href={clusterObjectAddress(cluster, object.uid)}>
    {kindText(object)} {nameText(object)}
  </a>
);

export function Fact({
  name,
  children,
  more,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
  readonly more?: ComponentChildren;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {children}
        {more === undefined ? null : <small>{more}</small>}
      </dd>
    </div>
  );
}

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

/** A chart as wide as its place, drawn anew when `draw` is another; what it shows stands in `label` too. */
export function Chart({
  label,
  draw,
}: {
  readonly label: string;
  readonly draw: (place: HTMLElement, width: number) => { readonly destroy: () => void };
}) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (place.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const plot = draw(place.current, width);
    return () => plot.destroy();
  }, [draw, width]);
  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

/** When an image was used last, by the clock of its node. */
export function LastUsed({
  users,
  lastUsedMs,
}: {
  readonly users: number;
  readonly lastUsedMs: number | null;
}) {
  if (users > 0) return <>now</>;
  return lastUsedMs === null ? <>never</> : <Time ms={lastUsedMs} />;
}

/** A page of a list, by the address of the one before and the one behind it. */
export function Pages({
  offset,
  limit,
  matching,
  what,
  addressAt,
}: {
  readonly offset: number;
  readonly limit: number;
  readonly matching: number;
  /** As in `3 repositories`. */
  readonly what: string;
  readonly addressAt: (offset: number) => string;
}) {
  const last = Math.min(offset + limit, matching);
  return (
    <p class="pages">
      <span role="status">
        {countText(matching)} {what}
        {matching <= limit ? '' : `, ${countText(offset + 1)} to ${countText(last)}`}
      </span>
      {offset > 0 ? <a href={addressAt(Math.max(0, offset - limit))}>Before</a> : null}
      {last < matching ? <a href={addressAt(offset + limit)}>Next</a> : null}
    </p>
  );
}
