import { useEffect, useRef, useState } from 'preact/hooks';
import type { DashboardCluster } from '../../../../schemas/reports/dashboard-clusters.ts';
import { type CountColours, drawCounts } from '../count-curve.ts';
import { countText } from '../texts.ts';
import { themeColours, useTheme } from '../theme.ts';

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
