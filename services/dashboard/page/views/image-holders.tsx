import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DashboardHolders } from '../../../../schemas/reports/dashboard-images.ts';
import { addressWith, go } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Shown } from '../parts.tsx';
import { countText } from '../texts.ts';

const EVERY_MS = 60_000;
const KINDS = ['cluster', 'pool', 'policy', 'namespace'] as const;
const kindOf = (text: string | null): (typeof KINDS)[number] => KINDS.find((kind) => kind === text) ?? 'pool';

/** Who holds the space. */
export function Holders({ query }: { readonly query: URLSearchParams }) {
  const by = kindOf(query.get('holders'));
  const answered = useAnswer<DashboardHolders>(
    `/api/images/holders?${new URLSearchParams({ by })}`,
    EVERY_MS,
  );
  return (
    <section aria-labelledby="holders">
      <h2 id="holders">Who holds the space</h2>
      <div class="controls">
        <label>
          By
          <select
            value={by}
            onChange={({ currentTarget: { value } }) =>
              go(addressWith('/images', query, { holders: value }), 'replace')
            }
          >
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Shown answered={answered}>{(told) => <HolderTable told={told} query={query} />}</Shown>
    </section>
  );
}

function HolderTable({
  told: { by, holders, matching },
  query,
}: {
  readonly told: DashboardHolders;
  readonly query: URLSearchParams;
}) {
  return (
    <div class="table">
      <table>
        <caption>
          {by === 'namespace'
            ? 'Images that pods of a namespace use; an image of several namespaces is in each.'
            : 'The images of all nodes of each.'}
          {holders.length < matching ? ` The first ${holders.length} of ${countText(matching)}.` : ''}
        </caption>
        <thead>
          <tr>
            <th scope="col">{by.slice(0, 1).toUpperCase() + by.slice(1)}</th>
            <th scope="col" class="number">
              Nodes
            </th>
            <th scope="col" class="number">
              Takes
            </th>
            <th scope="col" class="number">
              {by === 'namespace' ? 'Not shared' : 'Nobody uses'}
            </th>
            <th scope="col" class="number">
              Never used
            </th>
          </tr>
        </thead>
        <tbody>
          {holders.map((holder) => (
            <tr key={holder.name}>
              <th scope="row">
                {by === 'namespace' ? (
                  holder.name
                ) : (
                  <a href={addressWith('/images', query, { by, of: holder.name, offset: null })}>
                    {holder.name}
                  </a>
                )}
              </th>
              <td class="number">{countText(holder.nodes)}</td>
              <td class="number">{sizeText(BigInt(holder.bytes))}</td>
              <td class="number">
                {sizeText(BigInt(by === 'namespace' ? holder.aloneBytes : holder.unusedBytes))}
              </td>
              <td class="number">{sizeText(BigInt(holder.neverUsedBytes))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
