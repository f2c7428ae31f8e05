/**
 * The plot and the table of a sweep. BokehJS comes from the kernel, once for a page: no network is asked, and nothing
 * of it is saved with the notebook.
 */

const TEXT = ['major_label_text_color', 'axis_label_text_color', 'text_color', 'label_text_color', 'title_text_color'];
const LINES = ['axis_line_color', 'major_tick_line_color', 'minor_tick_line_color'];

function loaded(version) {
  const one = window.Bokeh;
  return [one, one?.[version]].find(each => each?.version === version);
}

function library(model) {
  const version = model.get('version');
  if (loaded(version) !== undefined) return Promise.resolve(loaded(version));
  return new Promise(resolve => {
    const heard = (content, buffers) => {
      if (content?.kind !== 'library') return;
      model.off('msg:custom', heard);
      if (loaded(version) === undefined) {
        const script = document.createElement('script');
        script.textContent = new TextDecoder().decode(buffers[0]);
        document.head.append(script);
      }
      resolve(loaded(version) ?? window.Bokeh);
    };
    model.on('msg:custom', heard);
    model.send({ kind: 'library' });
  });
}

function part(parent, tag, name) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  parent.append(made);
  return made;
}

function shown(cell) {
  if (cell === null) return '';
  if (typeof cell !== 'number') return cell;
  return Number.isInteger(cell) ? String(cell) : String(Number(cell.toPrecision(6)));
}

function compare(one, other) {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one).localeCompare(String(other), undefined, { numeric: true });
}

class Plot {
  constructor(model, node) {
    this.model = model;
    this.node = node;
    this.serial = 0;
    this.document = undefined;
  }

  async draw() {
    const mine = ++this.serial;
    const item = this.model.get('item');
    const Bokeh = await library(this.model);
    if (mine !== this.serial) return;
    this.clear();
    if (item.root_id === undefined) return;
    await Bokeh.embed.embed_item(item, this.node);
    const made = Bokeh.documents.find(each => each.get_model_by_id(item.root_id) !== null);
    if (mine !== this.serial) return;
    this.document = made;
    this.fill();
    this.paint();
  }

  /** Put the present data into the sources of the figure; one of another shape is on its way. */
  fill() {
    const data = this.model.get('data');
    let dots = 0;
    for (const [name, columns] of Object.entries(data)) {
      const source = this.document?.get_model_by_name(name);
      if (source) {
        source.data = { x: columns.x, y: columns.y.map(height => height ?? NaN) };
        if (name.startsWith('dots-')) dots += columns.x.length;
      }
    }
    this.node.dataset.points = String(dots);
  }

  paint() {
    if (this.document === undefined) return;
    const style = getComputedStyle(this.node);
    const ink = style.color;
    const line = style.getPropertyValue('--jp-border-color1').trim() || '#9e9e9e';
    for (const model of this.document._all_models.values()) {
      for (const name of TEXT) if (name in model.properties) model[name] = ink;
      for (const name of LINES) if (name in model.properties && model[name] !== null) model[name] = line;
    }
    const ring = this.document.get_model_by_name('ring');
    if (ring) ring.glyph.line_color = ink;
  }

  clear() {
    const { Bokeh } = window;
    if (this.document !== undefined) {
      this.document.clear();
      const place = Bokeh.documents.indexOf(this.document);
      if (place >= 0) Bokeh.documents.splice(place, 1);
      this.document = undefined;
    }
    this.node.replaceChildren();
    this.node.dataset.points = '0';
  }
}

class Table {
  constructor(model, node) {
    this.model = model;
    this.node = node;
    this.column = undefined;
    this.down = false;
  }

  sort(column) {
    this.down = this.column === column && !this.down;
    this.column = column;
    this.draw();
    this.node.querySelectorAll('th button')[column]?.focus();
  }

  draw() {
    const { names = [], rows = [], total = 0 } = this.model.get('table');
    const top = this.node.scrollTop;
    this.node.replaceChildren();
    if (rows.length === 0) return;
    const table = part(this.node, 'table');
    const head = part(part(table, 'thead'), 'tr');
    names.forEach((name, column) => {
      const cell = part(head, 'th');
      const sorted = this.column === column;
      cell.setAttribute('aria-sort', sorted ? (this.down ? 'descending' : 'ascending') : 'none');
      const button = part(cell, 'button');
      button.textContent = sorted ? `${name} ${this.down ? '▼' : '▲'}` : name;
      button.title = `Sort by ${name}`;
      button.addEventListener('click', () => this.sort(column));
    });
    const sign = this.down ? -1 : 1;
    const by = this.column;
    const order = by === undefined ? rows : [...rows].sort((a, b) => sign * compare(a.cells[by], b.cells[by]));
    const body = part(table, 'tbody');
    for (const row of order) {
      const line = part(body, 'tr');
      for (const name of ['newest', 'present', 'failed']) line.dataset[name] = String(row[name]);
      if (row.newest) line.title = 'The newest result';
      for (const cell of row.cells) part(line, 'td').textContent = shown(cell);
    }
    if (total > rows.length) {
      const text = `The newest ${rows.length} of ${total.toLocaleString()} results; sweep.frame() has all.`;
      part(this.node, 'div', 'cellmill-sweep-soft').textContent = text;
    }
    this.node.scrollTop = top;
  }
}

export default {
  render({ model, el }) {
    el.classList.add('cellmill-sweep');
    const plot = new Plot(model, part(el, 'div', 'cellmill-sweep-plot'));
    const note = part(el, 'div', 'cellmill-sweep-soft');
    const table = new Table(model, part(el, 'div', 'cellmill-sweep-table'));
    const heard = {
      'change:item': () => void plot.draw(),
      'change:data': () => plot.fill(),
      'change:table': () => table.draw(),
      'change:note': () => (note.textContent = model.get('note'))
    };
    for (const [event, act] of Object.entries(heard)) model.on(event, act);
    heard['change:note']();
    table.draw();
    void plot.draw();
    const look = new MutationObserver(() => plot.paint());
    look.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-light', 'data-jp-theme-name'] });
    return () => {
      for (const [event, act] of Object.entries(heard)) model.off(event, act);
      look.disconnect();
      plot.serial++;
      plot.clear();
    };
  }
};
