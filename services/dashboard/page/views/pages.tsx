import { countText } from '../texts.ts';

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
