import { useEffect, useRef, useState } from 'preact/hooks';
import type { DashboardCluster } from '../../../../schemas/reports/dashboard-clusters.ts';
import { clusterObjectAddress } from '../addresses.ts';
import { type CountColours, drawCounts } from '../curve.ts';
import { countText, finalizerText, kindText, nameText, REFERENCE_TEXT } from '../texts.ts';
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
    <section aria-labelledby="stuck">
      <h2 id="stuck">Stuck finalizers</h2>
      {count === 0 ? (
        <p>Nothing that was deleted waits for finalizers of others for ten minutes or longer.</p>
      ) : (
        <>
          <p>
            FleetGC takes away <code>orphan</code> and <code>foregroundDeletion</code>, and no other. Whoever
            set a finalizer has to take it away. Where nobody is left who would, a person can, with{' '}
            <code>kubectl edit</code>: what the finalizer was to tidy is left then.
          </p>
          <div class="table">
            <table>
              <caption>Waiting for finalizers of others: {firstOf(first.length, count)}</caption>
              <thead>
                <tr>
                  <th scope="col">Object</th>
                  <th scope="col">Deleted</th>
                  <th scope="col">Finalizer</th>
                  <th scope="col">What to do</th>
                </tr>
              </thead>
              <tbody>
                {first.flatMap(({ object, deletionTimestamp, finalizers }) =>
                  finalizers.map((finalizer) => (
                    <tr key={`${object.uid} ${finalizer}`}>
                      <th scope="row">
                        <a href={clusterObjectAddress(cluster, object.uid)}>
                          {kindText(object)} {nameText(object)}
                        </a>
                      </th>
                      <td>{deletionTimestamp}</td>
                      <td>{finalizer}</td>
                      <td>{finalizerText(finalizer)}</td>
                    </tr>
                  )),
                )}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}

function BadReferences({ told: { cluster, census } }: Told) {
  const { count, first } = census?.findings.badReferences ?? { count: 0, first: [] };
  return (
    <section aria-labelledby="dangling">
      <h2 id="dangling">References that lead nowhere</h2>
      {count === 0 ? (
        <p>There are none.</p>
      ) : (
        <div class="table">
          <table>
            <caption>{firstOf(first.length, count)}</caption>
            <thead>
              <tr>
                <th scope="col">Object</th>
                <th scope="col">It names as owner</th>
                <th scope="col">Which</th>
              </tr>
            </thead>
            <tbody>
              {first.map(({ object, owner, state }) => (
                <tr key={`${object.uid} ${owner.uid}`}>
                  <th scope="row">
                    <a href={clusterObjectAddress(cluster, object.uid)}>
                      {kindText(object)} {nameText(object)}
                    </a>
                  </th>
                  <td>
                    {owner.kind} {owner.name} ({owner.uid})
                  </td>
                  <td>{REFERENCE_TEXT[state]}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Kinds of which nothing is concluded, for want of a right or of an answer. */
export function Unread({ told: { census } }: Told) {
  if (census === null) return null;
  const { unsyncedKinds, failedGroups } = census.findings;
  return (
    <section aria-labelledby="unread">
      <h2 id="unread">What its agent cannot read</h2>
      {unsyncedKinds.length + failedGroups.length === 0 ? (
        <p>It reads every kind that the API server serves.</p>
      ) : (
        <>
          <p>
            Of these nothing is concluded, and what they own stays. Where a right is missing, print the role
            again with <code>fleetgc cluster rbac</code> and apply it.
          </p>
          <div class="table">
            <table>
              <thead>
                <tr>
                  <th scope="col">Kind or group</th>
                  <th scope="col">Why</th>
                </tr>
              </thead>
              <tbody>
                {unsyncedKinds.map((kind) => (
                  <tr key={kindText(kind)}>
                    <th scope="row">{kindText(kind)}</th>
                    <td>{kind.reason}</td>
                  </tr>
                ))}
                {failedGroups.map((group) => (
                  <tr key={group}>
                    <th scope="row">{group}</th>
                    <td>the group is not served at the moment</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
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
    <section aria-labelledby="census">
      <h2 id="census">Its objects</h2>
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
          <Chart curves={curves} />
          <Kinds told={told} />
        </>
      )}
    </section>
  );
}

function Chart({ curves }: Pick<DashboardCluster, 'curves'>) {
  const place = useRef<HTMLDivElement>(null);
  const colours = useTheme(readCountColours);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (place.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const plot = drawCounts(place.current, { curves, colours, width });
    return () => plot.destroy();
  }, [curves, colours, width]);
  return <div class="chart" ref={place} role="img" aria-label={chartText(curves)} />;
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
      <div class="table">
        <table>
          <thead>
            <tr>
              <th scope="col">Kind</th>
              <th scope="col" class="number">
                Objects now
              </th>
            </tr>
          </thead>
          <tbody>
            {kinds.map(({ kind, objects }) => (
              <tr key={kind}>
                <th scope="row">{kind}</th>
                <td class="number">{countText(objects)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
