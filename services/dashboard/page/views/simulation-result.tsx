import { sizeText } from '../../../../packages/text/size-text.ts';
import type { SimulationSums } from '../../../../schemas/reports/audit-simulation.ts';
import type { SimulationOutcome } from '../../../../schemas/reports/dashboard-policies.ts';
import { addressOfKey } from '../addresses.ts';
import { Time } from '../parts.tsx';
import { countText, spanText } from '../texts.ts';

/** More rows than anybody reads make the page slow. */
const SHOWN_NODES = 50;
const SHOWN_REGRETS = 20;

interface Sides {
  readonly policy: SimulationSums;
  readonly against: SimulationSums;
}

/** What came of it, beside the policies in force. The sums are those of `fleetgc audit simulate`. */
export function SimulationResult({ outcome }: { readonly outcome: SimulationOutcome }) {
  const { simulation, nodeCount, regretCount } = outcome;
  const { total, pools, nodes, regrets, assumptions, read, range } = simulation;
  return (
    <section aria-label="Result of the simulation">
      <p>
        {range.fromMs === null ? null : (
          <>
            From <Time ms={range.fromMs} />
          </>
        )}
        {range.toMs === null ? null : (
          <>
            {' '}
            to <Time ms={range.toMs} />
          </>
        )}
        : {countText(read.inventories - read.incomplete)} complete inventories of {countText(nodeCount)}{' '}
        nodes.
      </p>
      <SumsTable
        caption="In total, and by pool"
        rows={[
          { name: 'all nodes', ...total },
          ...pools.map((pool) => ({ name: pool.pool ?? '(no pool)', ...pool })),
        ]}
      />
      <details>
        <summary>By node</summary>
        <SumsTable
          caption={`The first ${Math.min(SHOWN_NODES, nodes.length)} of ${countText(nodeCount)} nodes`}
          rows={nodes.slice(0, SHOWN_NODES).map((node) => {
            const key = `${node.cluster}/${node.node}`;
            return { name: key, address: addressOfKey(key), ...node };
          })}
        />
      </details>
      {regrets.length === 0 ? null : <Regrets regrets={regrets} count={regretCount} />}
      <details>
        <summary>What a simulation cannot know</summary>
        <ul>
          {assumptions.map((assumption) => (
            <li key={assumption}>{assumption}</li>
          ))}
        </ul>
      </details>
    </section>
  );
}

interface Row extends Sides {
  readonly name: string;
  readonly address?: string;
}

const FIGURES: readonly { readonly name: string; readonly text: (sums: SimulationSums) => string }[] = [
  { name: 'Freed', text: ({ freedBytes }) => sizeText(BigInt(freedBytes)) },
  { name: 'Images', text: ({ removed }) => countText(removed.images) },
  { name: 'Regretted', text: ({ regrets }) => countText(regrets) },
  { name: 'Not relieved', text: ({ unrelieved }) => countText(unrelieved) },
  { name: 'Time above', text: ({ aboveMs }) => spanText(aboveMs) },
  { name: 'Highest use', text: ({ peakPercent }) => (peakPercent === null ? 'unknown' : `${peakPercent} %`) },
];

function SumsTable({ caption, rows }: { readonly caption: string; readonly rows: readonly Row[] }) {
  return (
    <div class="table">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Nodes</th>
            <th scope="col">Policies</th>
            {FIGURES.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <SideRows key={row.name} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SideRows({ row: { name, address, policy, against } }: { readonly row: Row }) {
  return (
    <>
      <tr>
        <th scope="row" rowSpan={2}>
          {address === undefined ? name : <a href={address}>{name}</a>}
        </th>
        <td>the copy</td>
        <Figures sums={policy} />
      </tr>
      <tr>
        <td>in force</td>
        <Figures sums={against} />
      </tr>
    </>
  );
}

const Figures = ({ sums }: { readonly sums: SimulationSums }) => (
  <>
    {FIGURES.map(({ name, text }) => (
      <td key={name} class="number">
        {text(sums)}
      </td>
    ))}
  </>
);

function Regrets({
  regrets,
  count,
}: {
  readonly regrets: SimulationOutcome['simulation']['regrets'];
  readonly count: number;
}) {
  return (
    <div class="table">
      <table>
        <caption>
          Images that were soon needed again: {Math.min(SHOWN_REGRETS, regrets.length)} of {countText(count)}
        </caption>
        <thead>
          <tr>
            <th scope="col">Policies</th>
            <th scope="col">Node</th>
            <th scope="col">Image</th>
            <th scope="col">Would go</th>
            <th scope="col">Needed again</th>
          </tr>
        </thead>
        <tbody>
          {regrets.slice(0, SHOWN_REGRETS).map((regret) => {
            const { side, cluster, node, imageId, name, removedAtMs, neededAtMs } = regret;
            const key = `${cluster}/${node}`;
            return (
              <tr key={`${side} ${key} ${imageId} ${removedAtMs}`}>
                <td>{side === 'policy' ? 'the copy' : 'in force'}</td>
                <td>
                  <a href={addressOfKey(key)}>{key}</a>
                </td>
                <td>{name}</td>
                <td>
                  <Time ms={removedAtMs} />
                </td>
                <td>
                  <Time ms={neededAtMs} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
