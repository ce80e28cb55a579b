import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DashboardListed, ListedThing } from '../../../../schemas/reports/dashboard-object.ts';
import { addressOfKey, objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Fact, Shown, Time } from '../parts.tsx';
import { LastUsed } from './last-used.tsx';

const EVERY_MS = 60_000;

/** As the newest inventory of one node has it: who uses it, and what keeps it there. */
export function OnNode({
  kind,
  id,
  node,
}: {
  readonly kind: string;
  readonly id: string;
  readonly node: string;
}) {
  const [cluster = '', name = ''] = node.split('/');
  const asked = new URLSearchParams({ cluster, node: name, kind, id, limit: '1' });
  const answered = useAnswer<DashboardListed>(`/api/node/listed?${asked}`, EVERY_MS);
  return (
    <section aria-labelledby="on-node">
      <h2 id="on-node">
        On <a href={addressOfKey(node)}>{node}</a>
      </h2>
      <Shown answered={answered}>
        {(listed) => {
          const [thing] = listed.things;
          return thing === undefined ? (
            <p>
              Its newest inventory (<Time ms={listed.atMs} />) does not list it.
            </p>
          ) : (
            <Thing thing={thing} listed={listed} />
          );
        }}
      </Shown>
    </section>
  );
}

function Thing({ thing, listed }: { readonly thing: ListedThing; readonly listed: DashboardListed }) {
  const { sizeBytes, state, firstSeenMs, pinned, judged } = thing;
  return (
    <>
      <dl class="facts">
        <Fact name="Reported at">
          <Time ms={listed.atMs} />
        </Fact>
        {sizeBytes === null ? null : <Fact name="Size as listed">{sizeText(BigInt(sizeBytes))}</Fact>}
        {state === null ? null : <Fact name="State">{state}</Fact>}
        <Used thing={thing} />
        {firstSeenMs === null ? null : (
          <Fact name="There since">
            <Time ms={firstSeenMs} />
          </Fact>
        )}
        {pinned ? <Fact name="Pinned">yes</Fact> : null}
      </dl>
      {judged === null ? null : <p>{judgedText(judged, listed.policy)}</p>}
      <Users thing={thing} node={listed.node} />
    </>
  );
}

const Used = ({ thing: { kind, usersInAll, lastUsedMs } }: { readonly thing: ListedThing }) =>
  kind === 'image' ? (
    <Fact name="Used last">
      <LastUsed users={usersInAll} lastUsedMs={lastUsedMs} />
    </Fact>
  ) : null;

function judgedText(
  { action, because, rule }: NonNullable<ListedThing['judged']>,
  policy: string | null,
): string {
  const under = policy === null ? 'without a policy' : `under the policy ${policy}`;
  return `${action === 'keep' ? 'Stays' : 'May go'}: ${because} (${rule}), ${under}.`;
}

const SHOWN: ReadonlySet<string> = new Set(['container', 'sandbox', 'pod', 'image']);

function Users({
  thing: { users, usersInAll },
  node,
}: {
  readonly thing: ListedThing;
  readonly node: string;
}) {
  if (users.length === 0) return null;
  return (
    <>
      <h3>Who uses it</h3>
      <ul>
        {users.map(({ kind, id, name }) => (
          <li key={`${kind} ${id}`}>
            {kind} {SHOWN.has(kind) ? <a href={objectAddress(kind, id, node)}>{name}</a> : name}
          </li>
        ))}
        {users.length < usersInAll ? <li>and {usersInAll - users.length} more</li> : null}
      </ul>
    </>
  );
}
