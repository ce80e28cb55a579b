import { sizeText } from '../../../../packages/text/size-text.ts';
import type {
  DashboardListed,
  DashboardObject,
  ListedThing,
} from '../../../../schemas/reports/dashboard-object.ts';
import { addressOfKey, addressWith, objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Fact, LastUsed, Section, Shown, Time } from '../parts.tsx';
import { countText } from '../texts.ts';
import { Life } from './life.tsx';

const EVERY_MS = 30_000;

interface ObjectProps {
  readonly kind: string;
  readonly id: string;
  readonly query: URLSearchParams;
}

/** One object on all nodes, and its life on the node that is chosen. */
export function ObjectView({ kind, id, query }: ObjectProps) {
  const after = query.get('after');
  const asked = new URLSearchParams({ kind, id, ...(after !== null && { after }) });
  const answered = useAnswer<DashboardObject>(`/api/object?${asked}`, EVERY_MS);
  const chosen = query.get('node');
  if (answered.kind === 'refused' && answered.status === 404)
    return (
      <>
        <h1>
          {kind} {id}
        </h1>
        {chosen === null ? (
          <p role="alert">Nothing that was read tells of it.</p>
        ) : (
          <InOneNode kind={kind} id={id} node={chosen} query={query} />
        )}
      </>
    );
  return (
    <Shown answered={answered}>
      {(told) => {
        const [only, ...others] = told.told;
        const node = chosen ?? (others.length === 0 ? (only ?? null) : null);
        return (
          <>
            <h1>
              {told.kind} {told.names[0] ?? told.id}
            </h1>
            <Facts told={told} />
            {node === null ? (
              <Choice told={told} />
            ) : (
              <InOneNode kind={kind} id={id} node={node} query={query} />
            )}
            {told.kind === 'image' ? <Holders told={told} query={query} /> : null}
            <Went told={told} />
          </>
        );
      }}
    </Shown>
  );
}

function InOneNode({ kind, id, node, query }: ObjectProps & { readonly node: string }) {
  return (
    <>
      <OnNode key={`on ${node}`} kind={kind} id={id} node={node} />
      <Life key={`life ${node}`} kind={kind} id={id} node={node} query={query} />
    </>
  );
}

function Facts({ told }: { readonly told: DashboardObject }) {
  const { kind, id, names, holders, went } = told;
  const [last] = went.last;
  return (
    <>
      <dl class="facts">
        {kind === 'image' ? (
          <Fact
            name="Is on"
            more={`${countText(holders.used)} use it${holders.pinned === 0 ? '' : `, ${countText(holders.pinned)} have it pinned`}`}
          >
            {countText(holders.nodes)} {holders.nodes === 1 ? 'node' : 'nodes'}
          </Fact>
        ) : null}
        <Fact
          name="Removed"
          more={kind === 'image' ? `${countText(went.back)} times it came back` : undefined}
        >
          {countText(went.times)} {went.times === 1 ? 'time' : 'times'}
        </Fact>
        {last === undefined ? null : (
          <Fact name="Last removed at" more={`from ${last.node}: ${last.because} (${last.rule})`}>
            <Time ms={last.atMs} />
          </Fact>
        )}
      </dl>
      <p class="quiet">
        {names.length > 1 ? <>Also called {names.slice(1).join(', ')}. </> : null}
        Its id is <code>{id}</code>. {sinceText(told)}
      </p>
    </>
  );
}

const sinceText = ({ knownSinceMs }: DashboardObject) =>
  knownSinceMs === null ? (
    'It is not read yet what was removed.'
  ) : (
    <>
      Removals are known since <Time ms={knownSinceMs} />.
    </>
  );

/** Several nodes tell of it. */
const Choice = ({ told: { kind, id, told } }: { readonly told: DashboardObject }) => (
  <Section id="choice" heading="Its life">
    <p>Choose a node: the event log is read for one at a time.</p>
    <ul class="choices">
      {told.map((node) => (
        <li key={node}>
          <a href={objectAddress(kind, id, node)}>{node}</a>
        </li>
      ))}
    </ul>
  </Section>
);

function Holders({ told, query }: { readonly told: DashboardObject; readonly query: URLSearchParams }) {
  const { kind, id, holders } = told;
  const here = objectAddress(kind, id);
  return (
    <Section id="holders" heading="Where it is now">
      {holders.page.length === 0 ? (
        <p class="quiet">No node lists it in its newest inventory.</p>
      ) : (
        <Table
          rows={holders.page}
          keyOf={({ node }) => node}
          columns={[
            ['Node', 'name', ({ node }) => <a href={objectAddress(kind, id, node)}>{node}</a>],
            ['Size as listed', 'size', ({ sizeBytes }) => BigInt(sizeBytes)],
            ['Used by', 'count', ({ users }) => users],
            [
              'Used last',
              'time',
              ({ users, lastUsedMs }) => <LastUsed users={users} lastUsedMs={lastUsedMs} />,
            ],
            ['Pinned', 'text', ({ pinned }) => (pinned ? 'yes' : 'no')],
            ['Reported at', 'time', ({ atMs }) => atMs],
          ]}
        />
      )}
      <p class="pages">
        {query.get('after') === null ? null : (
          <a href={addressWith(here, query, { after: null })}>From the first</a>
        )}
        {holders.after === null ? null : (
          <a href={addressWith(here, query, { after: holders.after })}>Next</a>
        )}
      </p>
    </Section>
  );
}

function Went({ told: { went, kind, id } }: { readonly told: DashboardObject }) {
  if (went.last.length === 0) return null;
  return (
    <Section id="went" heading="When it was removed">
      <Table
        caption={
          went.last.length < went.times
            ? `The last ${went.last.length} of ${countText(went.times)} times`
            : null
        }
        rows={went.last}
        keyOf={({ node, atMs }) => `${node} ${atMs}`}
        columns={[
          ['Removed at', 'time', ({ atMs }) => atMs],
          [
            'Node',
            'text',
            ({ node }) => (
              <>
                <a href={objectAddress(kind, id, node)}>{node}</a> (<a href={addressOfKey(node)}>the node</a>)
              </>
            ),
          ],
          ['Why', 'text', ({ because, rule }) => `${because} (${rule})`],
          ['Freed', 'size', ({ freedBytes }) => (freedBytes === null ? 'not measured' : BigInt(freedBytes))],
          ['Came back', 'text', ({ isBack }) => (isBack ? 'yes' : 'no')],
        ]}
      />
    </Section>
  );
}

const LISTED_EVERY_MS = 60_000;

/** As the newest inventory of one node has it: who uses it, and what keeps it there. */
function OnNode({ kind, id, node }: { readonly kind: string; readonly id: string; readonly node: string }) {
  const [cluster = '', name = ''] = node.split('/');
  const asked = new URLSearchParams({ cluster, node: name, kind, id, limit: '1' });
  const answered = useAnswer<DashboardListed>(`/api/node/listed?${asked}`, LISTED_EVERY_MS);
  return (
    <Section
      id="on-node"
      heading={
        <>
          On <a href={addressOfKey(node)}>{node}</a>
        </>
      }
    >
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
    </Section>
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
