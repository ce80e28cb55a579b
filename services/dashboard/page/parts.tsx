import type { ComponentChildren } from 'preact';
import type { Answered } from './asking.ts';

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
