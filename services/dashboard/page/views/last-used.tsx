import { Time } from '../parts.tsx';

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
