import { useMemo, useState } from 'preact/hooks';
import type { DashboardFleet, NodeState } from '../../../../schemas/reports/dashboard.ts';
import { nodeAddress } from '../addresses.ts';
import { countText, NODE_STATES, stateText, usedText } from '../texts.ts';

const ON_A_PAGE = 50;

/** Every node in a table, the fullest or the worst first: what the heat map shows, for everybody. */
export function NodeList({ fleet }: { readonly fleet: DashboardFleet }) {
  const [text, setText] = useState('');
  const [order, setOrder] = useState<Order>('used');
  const [page, setPage] = useState(0);
  const found = useMemo(() => ordered(fleet, text, order), [fleet, text, order]);
  const pages = Math.max(1, Math.ceil(found.length / ON_A_PAGE));
  const shown = Math.min(page, pages - 1);
  return (
    <section aria-labelledby="nodes">
      <h2 id="nodes">Nodes</h2>
      <div class="controls">
        <label>
          Name has
          <input
            type="search"
            value={text}
            maxLength={200}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <label>
          First
          <select value={order} onChange={(event) => setOrder(orderOf(event.currentTarget.value))}>
            {ORDERS.map(({ order: value, text: name }) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="button" disabled={shown === 0} onClick={() => setPage(shown - 1)}>
          Before
        </button>
        <button type="button" disabled={shown >= pages - 1} onClick={() => setPage(shown + 1)}>
          Next
        </button>
        <span class="quiet" role="status">
          {countText(found.length)} nodes, page {shown + 1} of {pages}
        </span>
      </div>
      <div class="table">
        <table>
          <thead>
            <tr>
              <th scope="col">Cluster</th>
              <th scope="col">Node</th>
              <th scope="col" class="number">
                Used
              </th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(shown * ON_A_PAGE, (shown + 1) * ON_A_PAGE).map((position) => (
              <NodeRow key={position} fleet={fleet} position={position} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function NodeRow({ fleet, position }: { readonly fleet: DashboardFleet; readonly position: number }) {
  const { columns, clusters } = fleet;
  const cluster = clusters[columns.cluster[position] ?? 0] ?? '';
  const node = columns.node[position] ?? '';
  return (
    <tr>
      <td>{cluster}</td>
      <td>
        <a href={nodeAddress(cluster, node)}>{node}</a>
      </td>
      <td class="number">{usedText(columns.used[position] ?? null)}</td>
      <td>{stateText(columns, position)}</td>
    </tr>
  );
}

const ORDERS = [
  { order: 'used', text: 'the fullest' },
  { order: 'state', text: 'what needs somebody' },
  { order: 'name', text: 'by name' },
] as const;
type Order = (typeof ORDERS)[number]['order'];

const orderOf = (value: string): Order => ORDERS.find(({ order }) => order === value)?.order ?? 'used';

function ordered({ columns, clusters }: DashboardFleet, text: string, order: Order): readonly number[] {
  const wanted = text.toLowerCase();
  const found: number[] = [];
  columns.node.forEach((node, position) => {
    const name = `${clusters[columns.cluster[position] ?? 0]}/${node}`;
    if (wanted === '' || name.toLowerCase().includes(wanted)) found.push(position);
  });
  if (order === 'name') return found;
  const used = (position: number): number => columns.used[position] ?? -1;
  const worst = (position: number): number => rank(columns.state[position] ?? 'well');
  return order === 'used'
    ? found.toSorted((a, b) => used(b) - used(a))
    : found.toSorted((a, b) => worst(a) - worst(b) || used(b) - used(a));
}

const rank = (state: NodeState): number => NODE_STATES.indexOf(state);
