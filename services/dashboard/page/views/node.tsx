import { useEffect, useRef, useState } from 'preact/hooks';
import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DashboardActivity, DashboardNode } from '../../../../schemas/reports/dashboard.ts';
import type { DashboardListed, ListedThing } from '../../../../schemas/reports/dashboard-object.ts';
import { NodePauses } from '../actions/pauses.tsx';
import { objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { type CurveColours, drawCurve } from '../curve.ts';
import { Fact, LastUsed, Shown, Time } from '../parts.tsx';
import { countText, usedText } from '../texts.ts';
import { themeColours, useTheme } from '../theme.ts';
import { ActivityTable } from './live.tsx';
import { NodePlan } from './node-plan.tsx';

const EVERY_MS = 30_000;

interface Named {
  readonly cluster: string;
  readonly node: string;
}

export function NodeView({ cluster, node }: Named) {
  const told = useAnswer<DashboardNode>(`/api/node?${new URLSearchParams({ cluster, node })}`, EVERY_MS);
  const named = new URLSearchParams({ node: `${cluster}/${node}`, limit: '50' });
  const done = useAnswer<DashboardActivity>(`/api/activity?${named}`, EVERY_MS);
  return (
    <>
      <h1>
        {cluster}/{node}
      </h1>
      <Shown answered={told}>
        {(value) => (
          <>
            <NodeFacts node={value.node} />
            <Warnings node={value.node} />
            <Disks {...value} />
          </>
        )}
      </Shown>
      <NodePauses cluster={cluster} node={node} />
      <h2>What was decided and done</h2>
      <Shown answered={done}>
        {({ activity }) => <ActivityTable activity={activity} isOfOneNode={true} />}
      </Shown>
      {told.kind === 'answered' ? (
        <>
          {told.value.hasInventory ? (
            <>
              <NodeListed cluster={cluster} node={node} />
              <NodePlan cluster={cluster} node={node} />
            </>
          ) : (
            <p class="quiet">This node has not reported yet what is on it.</p>
          )}
          <Settings {...told.value} />
        </>
      ) : null}
    </>
  );
}

function NodeFacts({ node }: Pick<DashboardNode, 'node'>) {
  const { filesystems, policy, pausedBecause, versions, heardMs, isSilent } = node;
  const free = filesystems.imagefs;
  return (
    <dl class="facts">
      <Fact
        name="Used of imagefs"
        more={free === null ? undefined : `${sizeText(BigInt(free.availableBytes))} free`}
      >
        {usedText(free?.usedPercent ?? null)}
      </Fact>
      <Fact name="Heard" more={isSilent ? <span class="bad">silent</span> : undefined}>
        <Time ms={heardMs} />
      </Fact>
      <Fact
        name="Policy"
        more={policy === null ? 'everything is kept' : `version ${policy.policyVersion}, ${policy.mode}`}
      >
        {policy?.name ?? '(none)'}
      </Fact>
      {pausedBecause === null ? null : (
        <Fact name="Paused">{pausedBecause === '' ? 'yes' : pausedBecause}</Fact>
      )}
      <Fact name="Version">{versions.fleetgc ?? 'unknown'}</Fact>
    </dl>
  );
}

function Warnings({ node }: Pick<DashboardNode, 'node'>) {
  if (node.warnings.length === 0) return null;
  return (
    <ul class="problems" aria-label="Warnings">
      {node.warnings.map(({ kind, message }) => (
        <li key={kind}>{message}</li>
      ))}
    </ul>
  );
}

const DISK_COLOURS = ['link', 'use-3', 'use-1'];

function readCurveColours(): CurveColours {
  const [text = '', line = '', mark = '', ...disks] = themeColours(['text', 'line', 'bad', ...DISK_COLOURS]);
  return { text, line, mark, disks };
}

function Disks({ disks, removals }: Pick<DashboardNode, 'disks' | 'removals'>) {
  const place = useRef<HTMLDivElement>(null);
  const colours = useTheme(readCurveColours);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (place.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const plot = drawCurve(place.current, { disks, removals, colours, width });
    return () => plot.destroy();
  }, [disks, removals, colours, width]);
  return (
    <section aria-labelledby="disks">
      <h2 id="disks">Its disks</h2>
      <ul class="legend" aria-label="What the curves are">
        {disks.map(({ filesystem, alsoCalled }, index) => (
          <li key={filesystem}>
            <i class={`curve-${index}`} />
            {[filesystem, ...alsoCalled].join(', ')}
          </li>
        ))}
        <li>▲ something was removed</li>
      </ul>
      <div class="chart" ref={place} role="img" aria-label={curveText({ disks, removals })} />
      <RemovalTable removals={removals} />
    </section>
  );
}

function curveText({ disks, removals }: Pick<DashboardNode, 'disks' | 'removals'>): string {
  const told = disks.map(({ filesystem, points }) => {
    const most = Math.max(0, ...points.map(([, , high]) => high));
    return `${filesystem} used at most ${most / 10} percent`;
  });
  return `How full its disks were: ${told.join('; ')}. ${removals.length} times something was removed; the table below has the last of them.`;
}

const SHOWN_REMOVALS = 20;

function RemovalTable({ removals }: Pick<DashboardNode, 'removals'>) {
  if (removals.length === 0) return <p class="quiet">Nothing was removed in the time that is known.</p>;
  return (
    <div class="table">
      <table>
        <caption>What was removed last</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col" class="number">
              Objects
            </th>
            <th scope="col" class="number">
              Freed
            </th>
          </tr>
        </thead>
        <tbody>
          {removals
            .slice(-SHOWN_REMOVALS)
            .toReversed()
            .map(({ atMs, objects, freedBytes }) => (
              <tr key={atMs}>
                <td>
                  <Time ms={atMs} />
                </td>
                <td class="number">{objects}</td>
                <td class="number">{freedBytes === null ? 'not measured' : sizeText(BigInt(freedBytes))}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

function Settings({ settings }: Pick<DashboardNode, 'settings'>) {
  if (settings.length === 0) return null;
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Its policy, and where each value comes from</h2>
      <div class="table">
        <table>
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Value</th>
              <th scope="col">Where from</th>
            </tr>
          </thead>
          <tbody>
            {settings.map(({ setting, value, origin }) => (
              <tr key={setting}>
                <th scope="row">{setting}</th>
                <td>{value}</td>
                <td>{origin}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const LISTED_EVERY_MS = 60_000;
const ON_A_PAGE = 25;

/** All that the node lists in its newest inventory, the largest first, and what keeps it there. */
function NodeListed({ cluster, node }: Named) {
  const [kind, setKind] = useState('');
  const [text, setText] = useState('');
  const [offset, setOffset] = useState(0);
  const asked = new URLSearchParams({
    cluster,
    node,
    ...(kind !== '' && { kind }),
    ...(text !== '' && { q: text }),
    offset: String(offset),
    limit: String(ON_A_PAGE),
  });
  const answered = useAnswer<DashboardListed>(`/api/node/listed?${asked}`, LISTED_EVERY_MS);
  return (
    <section aria-labelledby="listed">
      <h2 id="listed">What is on it</h2>
      <Shown answered={answered}>
        {(listed) => (
          <>
            <div class="controls">
              <label>
                Kind
                <select
                  value={kind}
                  onChange={({ currentTarget: { value } }) => {
                    setKind(value);
                    setOffset(0);
                  }}
                >
                  <option value="">everything</option>
                  {listed.counts.map((count) => (
                    <option key={count.kind} value={count.kind}>
                      {count.kind} ({countText(count.objects)})
                    </option>
                  ))}
                </select>
              </label>
              <label>
                Name has
                <input
                  type="search"
                  value={text}
                  maxLength={200}
                  onInput={({ currentTarget: { value } }) => {
                    setText(value);
                    setOffset(0);
                  }}
                />
              </label>
              <button type="button" disabled={offset === 0} onClick={() => setOffset(offset - ON_A_PAGE)}>
                Before
              </button>
              <button
                type="button"
                disabled={offset + ON_A_PAGE >= listed.matching}
                onClick={() => setOffset(offset + ON_A_PAGE)}
              >
                Next
              </button>
              <span class="quiet" role="status">
                {countText(listed.matching)} objects
              </span>
            </div>
            <Things listed={listed} />
          </>
        )}
      </Shown>
    </section>
  );
}

function Things({ listed }: { readonly listed: DashboardListed }) {
  return (
    <div class="table">
      <table>
        <caption>
          As of <Time ms={listed.atMs} />, the largest first. “Why it stays” says what would keep it even if
          as much went now as the policy in force allows.
        </caption>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col">Name</th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col">Used last</th>
            <th scope="col">Why it stays</th>
          </tr>
        </thead>
        <tbody>
          {listed.things.map((thing) => (
            <tr key={`${thing.kind} ${thing.id}`}>
              <td>{thing.kind}</td>
              <td>
                <a href={objectAddress(thing.kind, thing.id, listed.node)}>{thing.name}</a>
              </td>
              <td class="number">{thing.sizeBytes === null ? '' : sizeText(BigInt(thing.sizeBytes))}</td>
              <td>
                {thing.kind === 'image' ? (
                  <LastUsed users={thing.usersInAll} lastUsedMs={thing.lastUsedMs} />
                ) : (
                  (thing.state ?? '')
                )}
              </td>
              <td>{whyText(thing)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function whyText({ judged }: ListedThing): string {
  if (judged === null) return '';
  const why = `${judged.because} (${judged.rule})`;
  return judged.action === 'keep' ? why : `may go: ${why}`;
}
