import { sizeText } from '../../../../packages/text/size-text.ts';
import type {
  DashboardHolders,
  DashboardImages,
  DashboardRepository,
  DashboardReturned,
} from '../../../../schemas/reports/dashboard-images.ts';
import { addressWith, go, objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Fact, Pages, Shown, Time } from '../parts.tsx';
import { countText } from '../texts.ts';

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

const SELDOM_MS = 60_000;
const KINDS = ['cluster', 'pool', 'policy', 'namespace'] as const;
const kindOf = (text: string | null): (typeof KINDS)[number] => KINDS.find((kind) => kind === text) ?? 'pool';

/** Who holds the space. */
function Holders({ query }: { readonly query: URLSearchParams }) {
  const by = kindOf(query.get('holders'));
  const answered = useAnswer<DashboardHolders>(
    `/api/images/holders?${new URLSearchParams({ by })}`,
    SELDOM_MS,
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

/** What was removed for nothing. */
function Returned() {
  const answered = useAnswer<DashboardReturned>('/api/images/returned', SELDOM_MS);
  return (
    <section aria-labelledby="returned">
      <h2 id="returned">Removed, and pulled again</h2>
      <Shown answered={answered}>
        {(told) => (
          <>
            <p>
              {countText(told.returns)} of {countText(told.removals)} images that were removed in the last
              seven days came back.{' '}
              {told.knownSinceMs !== null && told.knownSinceMs <= told.fromMs ? null : (
                <KnownSince told={told} />
              )}
              The <a href="/report">report</a> tells each of them.
            </p>
            {told.images.length === 0 ? null : <ReturnedTable images={told.images} />}
          </>
        )}
      </Shown>
    </section>
  );
}

const KnownSince = ({ told: { knownSinceMs } }: { readonly told: DashboardReturned }) =>
  knownSinceMs === null ? (
    <>It is not known yet since when all is read. </>
  ) : (
    <>
      Known since <Time ms={knownSinceMs} />.{' '}
    </>
  );

function ReturnedTable({ images }: Pick<DashboardReturned, 'images'>) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">Image</th>
            <th scope="col" class="number">
              Came back
            </th>
            <th scope="col" class="number">
              Removed
            </th>
            <th scope="col" class="number">
              Nodes
            </th>
          </tr>
        </thead>
        <tbody>
          {images.map(({ id, name, returns, removals, nodes }) => (
            <tr key={id}>
              <th scope="row">
                <a href={objectAddress('image', id)}>{name ?? id}</a>
              </th>
              <td class="number">{countText(returns)}</td>
              <td class="number">{countText(removals)}</td>
              <td class="number">{countText(nodes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The images of one repository. */
function Repository({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const answered = useAnswer<DashboardRepository>(
    `/api/images/repository?${new URLSearchParams({ name })}`,
    null,
  );
  return (
    <section aria-labelledby="repository">
      <h2 id="repository">Images of {name}</h2>
      <p>
        <a href={addressWith('/images', query, { repository: null })}>Close</a>
      </p>
      <Shown answered={answered}>
        {({ images, matching }) => (
          <div class="table">
            <table>
              <caption>
                {countText(matching)} images on all nodes, those on the most nodes first
                {images.length < matching ? `; the first ${countText(images.length)} of them` : ''}
              </caption>
              <thead>
                <tr>
                  <th scope="col">Image</th>
                  <th scope="col" class="number">
                    Size as listed
                  </th>
                  <th scope="col" class="number">
                    Nodes
                  </th>
                  <th scope="col" class="number">
                    In use on
                  </th>
                  <th scope="col" class="number">
                    Never used on
                  </th>
                </tr>
              </thead>
              <tbody>
                {images.map((image) => (
                  <tr key={image.id}>
                    <th scope="row">
                      <a href={objectAddress('image', image.id)}>{image.name}</a>
                    </th>
                    <td class="number">{sizeText(BigInt(image.sizeBytes))}</td>
                    <td class="number">{countText(image.nodes)}</td>
                    <td class="number">{countText(image.usedOn)}</td>
                    <td class="number">{countText(image.neverUsedOn)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Shown>
    </section>
  );
}
