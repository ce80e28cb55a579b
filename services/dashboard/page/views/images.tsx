import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DashboardImages } from '../../../../schemas/reports/dashboard-images.ts';
import { addressWith, go } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Fact, Shown } from '../parts.tsx';
import { countText } from '../texts.ts';
import { Holders } from './image-holders.tsx';
import { Returned } from './image-returned.tsx';
import { Pages } from './pages.tsx';
import { Repository } from './repository.tsx';

const ON_A_PAGE = 50;
const EVERY_MS = 30_000;

/** What images take on all nodes, by repository. Whatever is chosen stands in the address. */
export function ImagesView({ query }: { readonly query: URLSearchParams }) {
  const asked = new URLSearchParams({ limit: String(ON_A_PAGE) });
  for (const name of ['q', 'sort', 'offset', 'by', 'of']) {
    const value = query.get(name);
    if (value !== null && value !== '') asked.set(name, value);
  }
  const images = useAnswer<DashboardImages>(`/api/images?${asked}`, EVERY_MS);
  const repository = query.get('repository');
  return (
    <>
      <h1>Images</h1>
      <Shown answered={images}>
        {(told) => (
          <>
            <Sums told={told} />
            <Chosen query={query} />
            {repository === null ? null : <Repository name={repository} query={query} />}
            <Repositories told={told} query={query} />
          </>
        )}
      </Shown>
      <Holders query={query} />
      <Returned />
    </>
  );
}

const bytesText = (bytes: string): string => sizeText(BigInt(bytes));

function Sums({
  told: { sums, nodes, nodesWithoutLayers, nodesNotCounted },
}: {
  readonly told: DashboardImages;
}) {
  return (
    <>
      <dl class="facts">
        <Fact name="All images take" more={`on ${countText(nodes)} nodes`}>
          {bytesText(sums.bytes)}
        </Fact>
        <Fact name="Nobody uses now">{bytesText(sums.unusedBytes)}</Fact>
        <Fact name="Nobody was ever seen to use">{bytesText(sums.neverUsedBytes)}</Fact>
        <Fact name="Images" more={`in ${countText(sums.repositories)} repositories`}>
          {countText(sums.images)}
        </Fact>
      </dl>
      {nodesNotCounted === 0 ? null : (
        <p>
          Not counted: {countText(nodesNotCounted)} {nodesNotCounted === 1 ? 'node is' : 'nodes are'} silent
          or told nothing of images yet, and what lies there is not known.
        </p>
      )}
      <p class="quiet">
        Of each node its newest inventory counts. What images of one node have in common counts once on that
        node.
        {nodesWithoutLayers === 0
          ? null
          : ` ${countText(nodesWithoutLayers)} nodes tell of no layers: there an image counts with its listed size.`}
      </p>
    </>
  );
}

/** Of which nodes alone it is told. */
function Chosen({ query }: { readonly query: URLSearchParams }) {
  const [by, of] = [query.get('by'), query.get('of')];
  if (by === null || of === null) return null;
  return (
    <p>
      Of the nodes of {by} <strong>{of}</strong> only.{' '}
      <a href={addressWith('/images', query, { by: null, of: null, offset: null })}>Of all nodes</a>
    </p>
  );
}

const COLUMNS = [
  { sort: 'name', name: 'Repository', isNumber: false },
  { sort: 'images', name: 'Images', isNumber: true },
  { sort: 'nodes', name: 'Nodes', isNumber: true },
  { sort: 'bytes', name: 'Takes', isNumber: true },
  { sort: 'alone', name: 'Not shared', isNumber: true },
  { sort: 'unused', name: 'Nobody uses', isNumber: true },
  { sort: 'never', name: 'Never used', isNumber: true },
] as const;

function Repositories({ told, query }: { readonly told: DashboardImages; readonly query: URLSearchParams }) {
  const sort = query.get('sort') ?? 'bytes';
  const offset = Number(query.get('offset') ?? 0);
  return (
    <section aria-labelledby="repositories">
      <h2 id="repositories">Repositories</h2>
      <div class="controls">
        <label>
          Name has
          <input
            type="search"
            value={query.get('q') ?? ''}
            maxLength={200}
            onInput={({ currentTarget: { value } }) =>
              go(addressWith('/images', query, { q: value, offset: null }), 'replace')
            }
          />
        </label>
      </div>
      <div class="table">
        <table>
          <caption>
            Takes: with what it shares with other repositories. Not shared: what no other repository of the
            node has; the two columns behind it are parts of that.
          </caption>
          <thead>
            <tr>
              {COLUMNS.map((column) => (
                <th
                  key={column.sort}
                  scope="col"
                  class={column.isNumber ? 'number' : undefined}
                  aria-sort={column.sort !== sort ? undefined : sort === 'name' ? 'ascending' : 'descending'}
                >
                  <a href={addressWith('/images', query, { sort: column.sort, offset: null })}>
                    {column.name}
                  </a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {told.repositories.map((row) => (
              <tr key={row.repository}>
                <th scope="row">
                  <a href={addressWith('/images', query, { repository: row.repository })}>{row.repository}</a>
                </th>
                <td class="number">{countText(row.images)}</td>
                <td class="number">{countText(row.nodes)}</td>
                <td class="number">{bytesText(row.bytes)}</td>
                <td class="number">{bytesText(row.aloneBytes)}</td>
                <td class="number">{bytesText(row.unusedBytes)}</td>
                <td class="number">{bytesText(row.neverUsedBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Pages
        offset={offset}
        limit={ON_A_PAGE}
        matching={told.matching}
        what="repositories"
        addressAt={(at) => addressWith('/images', query, { offset: String(at) })}
      />
    </section>
  );
}
