import { useCallback, useState } from 'preact/hooks';
import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DashboardActivity, DashboardNode } from '../../../../schemas/reports/dashboard.ts';
import type { DashboardListed, ListedThing } from '../../../../schemas/reports/dashboard-object.ts';
import { NodePauses } from '../actions/pauses.tsx';
import { objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { type CurveColours, drawCurve } from '../curve.ts';
import { Table } from '../document.tsx';
import { Chart, Fact, LastUsed, SearchField, Section, Select, Shown, Time } from '../parts.tsx';
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
  const colours = useTheme(readCurveColours);
  const draw = useCallback(
    (place: HTMLElement, width: number) => drawCurve(place, { disks, removals, colours, width }),
    [disks, removals, colours],
  );
  return (
    <Section id="disks" heading="Its disks">
      <ul class="legend" aria-label="What the curves are">
        {disks.map(({ filesystem, alsoCalled }, index) => (
          <li key={filesystem}>
            <i class={`curve-${index}`} />
            {[filesystem, ...alsoCalled].join(', ')}
          </li>
        ))}
        <li>▲ something was removed</li>
      </ul>
      <Chart label={curveText({ disks, removals })} draw={draw} />
      <RemovalTable removals={removals} />
    </Section>
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
    <Table
      caption="What was removed last"
      rows={removals.slice(-SHOWN_REMOVALS).toReversed()}
      keyOf={({ atMs }) => atMs}
      columns={[
        ['When', 'time', ({ atMs }) => atMs],
        ['Objects', 'count', ({ objects }) => objects],
        ['Freed', 'size', ({ freedBytes }) => (freedBytes === null ? 'not measured' : BigInt(freedBytes))],
      ]}
    />
  );
}

function Settings({ settings }: Pick<DashboardNode, 'settings'>) {
  if (settings.length === 0) return null;
  return (
    <Section id="settings" heading="Its policy, and where each value comes from">
      <Table
        rows={settings}
        keyOf={({ setting }) => setting}
        columns={[
          ['Setting', 'name', ({ setting }) => setting],
          ['Value', 'text', ({ value }) => value],
          ['Where from', 'text', ({ origin }) => origin],
        ]}
      />
    </Section>
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
    <Section id="listed" heading="What is on it">
      <Shown answered={answered}>
        {(listed) => (
          <>
            <div class="controls">
              <Select
                label="Kind"
                value={kind}
                options={[
                  ['', 'everything'],
                  ...listed.counts.map(
                    (count) => [count.kind, `${count.kind} (${countText(count.objects)})`] as const,
                  ),
                ]}
                onChange={(chosen) => {
                  setKind(chosen);
                  setOffset(0);
                }}
              />
              <SearchField
                label="Name has"
                value={text}
                onInput={(asked) => {
                  setText(asked);
                  setOffset(0);
                }}
              />
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
    </Section>
  );
}

function Things({ listed }: { readonly listed: DashboardListed }) {
  return (
    <Table
      caption={
        <>
          As of <Time ms={listed.atMs} />, the largest first. “Why it stays” says what would keep it even if
          as much went now as the policy in force allows.
        </>
      }
      rows={listed.things}
      keyOf={({ kind, id }) => `${kind} ${id}`}
      columns={[
        ['Kind', 'text', ({ kind }) => kind],
        ['Name', 'text', ({ kind, id, name }) => <a href={objectAddress(kind, id, listed.node)}>{name}</a>],
        ['Size', 'size', ({ sizeBytes }) => (sizeBytes === null ? '' : BigInt(sizeBytes))],
        [
          'Used last',
          'time',
          ({ kind, usersInAll, lastUsedMs, state }) =>
            kind === 'image' ? <LastUsed users={usersInAll} lastUsedMs={lastUsedMs} /> : state,
        ],
        ['Why it stays', 'text', whyText],
      ]}
    />
  );
}

function whyText({ judged }: ListedThing): string {
  if (judged === null) return '';
  const why = `${judged.because} (${judged.rule})`;
  return judged.action === 'keep' ? why : `may go: ${why}`;
}
