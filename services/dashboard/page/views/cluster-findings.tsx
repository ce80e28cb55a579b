import { useCallback } from 'preact/hooks';
import { OWNER_STATES } from '../../../../packages/documents/cluster-life.ts';
import type { DashboardCluster } from '../../../../schemas/reports/dashboard-clusters.ts';
import { type CountColours, drawCounts } from '../curve.ts';
import { Table } from '../document.tsx';
import { Chart, ObjectLink, Section } from '../parts.tsx';
import { countText, finalizerText, kindText } from '../texts.ts';
import { themeColours, useTheme } from '../theme.ts';
import { firstOf } from './cluster-held.tsx';

interface Told {
  readonly told: DashboardCluster;
}

/** What does not go, and what leads nowhere. */
export function Findings({ told }: Told) {
  if (told.census === null) return null;
  return (
    <>
      <Stuck told={told} />
      <BadReferences told={told} />
    </>
  );
}

function Stuck({ told: { cluster, census } }: Told) {
  const { count, first } = census?.findings.stuckFinalizers ?? { count: 0, first: [] };
  return (
    <Section id="stuck" heading="Stuck finalizers">
      {count === 0 ? (
        <p>Nothing that was deleted waits for finalizers of others for ten minutes or longer.</p>
      ) : (
        <>
          <p>
            FleetGC takes away <code>orphan</code> and <code>foregroundDeletion</code>, and no other. Whoever
            set a finalizer has to take it away. Where nobody is left who would, a person can, with{' '}
            <code>kubectl edit</code>: what the finalizer was to tidy is left then.
          </p>
          <Table
            caption={<>Waiting for finalizers of others: {firstOf(first.length, count)}</>}
            rows={first.flatMap(({ finalizers, ...each }) =>
              finalizers.map((finalizer) => ({ ...each, finalizer })),
            )}
            keyOf={({ object, finalizer }) => `${object.uid} ${finalizer}`}
            columns={[
              ['Object', 'name', ({ object }) => <ObjectLink cluster={cluster} object={object} />],
              ['Deleted', 'text', ({ deletionTimestamp }) => deletionTimestamp],
              ['Finalizer', 'text', ({ finalizer }) => finalizer],
              ['What to do', 'text', ({ finalizer }) => finalizerText(finalizer)],
            ]}
          />
        </>
      )}
    </Section>
  );
}

function BadReferences({ told: { cluster, census } }: Told) {
  const { count, first } = census?.findings.badReferences ?? { count: 0, first: [] };
  return (
    <Section id="dangling" heading="References that lead nowhere">
      {count === 0 ? (
        <p>There are none.</p>
      ) : (
        <Table
          caption={firstOf(first.length, count)}
          rows={first}
          keyOf={({ object, owner }) => `${object.uid} ${owner.uid}`}
          columns={[
            ['Object', 'name', ({ object }) => <ObjectLink cluster={cluster} object={object} />],
            ['It names as owner', 'text', ({ owner: { kind, name, uid } }) => `${kind} ${name} (${uid})`],
            ['Which', 'text', ({ state }) => OWNER_STATES[state]],
          ]}
        />
      )}
    </Section>
  );
}

/** Kinds of which nothing is concluded, for want of a right or of an answer. */
export function Unread({ told: { census } }: Told) {
  if (census === null) return null;
  const { unsyncedKinds, failedGroups } = census.findings;
  return (
    <Section id="unread" heading="What its agent cannot read">
      {unsyncedKinds.length + failedGroups.length === 0 ? (
        <p>It reads every kind that the API server serves.</p>
      ) : (
        <>
          <p>
            Of these nothing is concluded, and what they own stays. Where a right is missing, print the role
            again with <code>fleetgc cluster rbac</code> and apply it.
          </p>
          <Table
            rows={[
              ...unsyncedKinds.map((kind) => ({ name: kindText(kind), why: kind.reason })),
              ...failedGroups.map((name) => ({ name, why: 'the group is not served at the moment' })),
            ]}
            keyOf={({ name }) => name}
            columns={[
              ['Kind or group', 'name', ({ name }) => name],
              ['Why', 'text', ({ why }) => why],
            ]}
          />
        </>
      )}
    </Section>
  );
}

/** As many as there may be curves. */
const CURVES = ['curve-0', 'curve-1', 'curve-2', 'curve-3', 'curve-4', 'curve-5'];

function readCountColours(): CountColours {
  const [text = '', line = '', ...kinds] = themeColours(['text', 'line', ...CURVES]);
  return { text, line, kinds };
}

/** How many objects there were of the kinds with the most, and how many there are now of each. */
export function Census({ told }: { readonly told: DashboardCluster }) {
  const { curves, kinds } = told;
  return (
    <Section id="census" heading="Its objects">
      {kinds.length === 0 ? (
        <p>Its agent has not counted them yet, or is of an older release, which does not tell kinds.</p>
      ) : (
        <>
          <ul class="legend" aria-label="What the curves are">
            {curves.kinds.map(({ kind }, index) => (
              <li key={kind}>
                <i class={`count-${index}`} />
                {kind}
              </li>
            ))}
          </ul>
          <Curves curves={curves} />
          <Kinds told={told} />
        </>
      )}
    </Section>
  );
}

function Curves({ curves }: Pick<DashboardCluster, 'curves'>) {
  const colours = useTheme(readCountColours);
  const draw = useCallback(
    (place: HTMLElement, width: number) => drawCounts(place, { curves, colours, width }),
    [curves, colours],
  );
  return <Chart label={chartText(curves)} draw={draw} />;
}

function chartText({ kinds }: DashboardCluster['curves']): string {
  const told = kinds.map(({ kind, points }) => {
    const counts = points.flatMap(([, count]) => count ?? []);
    return `${kind}: ${countText(counts.at(-1) ?? 0)} now, ${countText(Math.max(0, ...counts))} at most`;
  });
  return `How many objects there were of each kind. ${told.join('; ')}. The table below has the numbers of now.`;
}

function Kinds({ told: { kinds, census } }: { readonly told: DashboardCluster }) {
  const counted = kinds.reduce((sum, { objects }) => sum + objects, 0);
  const rest = (census?.totals.objects ?? counted) - counted;
  return (
    <details>
      <summary>
        {kinds.length} kinds with the most objects
        {rest > 0 ? `, and ${countText(rest)} objects of others` : ''}
      </summary>
      <Table
        rows={kinds}
        keyOf={({ kind }) => kind}
        columns={[
          ['Kind', 'name', ({ kind }) => kind],
          ['Objects now', 'count', ({ objects }) => objects],
        ]}
      />
    </details>
  );
}
