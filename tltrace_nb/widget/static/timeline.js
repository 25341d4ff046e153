// Built from frontend/src by `npm run bundle`: change that, not this. It is committed so that an install from a
// checkout needs no Node; names are those of the sources, and comments and indentation are left to them.
var KEY="#view=";var USUAL={span:null,scroll:0,color_by:"name",query:"",filter:false,align:"cta",hidden_names:[],hidden:[],
pinned:[],order:{}};function fromHash(options){return{...options,view:{...options.view,...read()},onView:view=>{const said=Object.
entries(view).filter(([key,value])=>JSON.stringify(value)!==JSON.stringify(USUAL[key]));history.replaceState(null,"",KEY+
encodeURIComponent(JSON.stringify(Object.fromEntries(said))))}}}function followHash(view){addEventListener("hashchange",
()=>view.setView({...USUAL,...read()}))}function read(){if(!location.hash.startsWith(KEY))return{};try{const value=JSON.
parse(decodeURIComponent(location.hash.slice(KEY.length)));return typeof value==="object"&&value!==null?value:{}}catch{return{}}}var SUPPRESS="data-lm-suppress-shortcuts";var FOCUSABLE=new Set(["button","input","select"]);function h(tag,attributes={},...children){
const element=document.createElement(tag);for(const[key,value]of Object.entries(attributes)){if(value===true)element.setAttribute(
key,"");else if(value!==false)element.setAttribute(key,value)}if(FOCUSABLE.has(tag)||"tabindex"in attributes)element.setAttribute(
SUPPRESS,"true");element.append(...children.filter(child=>child!==null));return element}async function copyText(text,near){
if(navigator.clipboard)return navigator.clipboard.writeText(text);const focused=document.activeElement;const area=h("tex\
tarea",{class:"tlt-sr","aria-hidden":"true"});area.value=text;near.append(area);area.select();const done=document.execCommand(
"copy");area.remove();focused?.focus();if(!done)throw new Error("not allowed")}function context2d(canvas){const context=canvas.
getContext("2d");if(!context)throw new Error("this browser cannot draw on a canvas");return context}var MOST_ROWS=48;function stack(start,duration2,from,to,rows){const busy=[];for(let i=from;i<to;i++){const begin2=start[i];
const end=begin2+Math.max(duration2[i],1);let row=busy.length;while(row>0&&!(busy[row-1]>begin2&&busy[row-1]>=end))row--;
while(row<busy.length&&busy[row]>begin2)row++;if(row>=MOST_ROWS)row=MOST_ROWS-1;busy[row]=Math.max(end,busy[row]??end);rows[i]=
row}return Math.max(busy.length,1)}var VERSION=1;var INSTANT=1;var TRUNCATED=2;var PAYLOAD=4;var PAYLOAD_END=8;var EXACT=2**53;function bytesOf(data){if(data instanceof
ArrayBuffer)return new Uint8Array(data);return new Uint8Array(data.buffer,data.byteOffset,data.byteLength)}var Wire=class{constructor(header,bytes){
this.header=header;if(header.version!==VERSION){throw new Error(`this data has format ${header.version}, and this timeli\
ne reads ${VERSION}: run the cell again`)}let at=0;for(const spec of header.columns){const size=spec.width*spec.length;if(at+
size>bytes.length)throw new Error(`the data ends in the middle of column ${spec.name}`);this.columns.set(spec.name,decode(
spec,bytes.subarray(at,at+size)));at+=size}}header;columns=new Map;find(name2){const column=this.columns.get(name2);if(column instanceof
BigInt64Array)throw new Error(`column ${name2} is too wide`);return column}get(name2){const column=this.find(name2);if(!column)
throw new Error(`the data has no column ${name2}`);return column}};function decode(spec,bytes){const{code,width,length}=spec;
if(code==="f32"){const bits=new Uint32Array(length);addPlanes(bits,bytes,width);return Float64Array.from(new Float32Array(
bits.buffer))}if(code==="f64"){const bits=new BigInt64Array(length);addBigPlanes(bits,bytes,width);return new Float64Array(
bits.buffer)}const least=Number(spec.least);const most=least+256**width-1;if(width>6||least<=-EXACT||most>=EXACT){const wide=new BigInt64Array(
length).fill(BigInt(spec.least));addBigPlanes(wide,bytes,width);return wide}const values=numbersFor(least,most,length);if(least!==
0)values.fill(least);addPlanes(values,bytes,width);return values}function numbersFor(least,most,length){if(least>=0&&most<
2**8)return new Uint8Array(length);if(least>=0&&most<2**16)return new Uint16Array(length);if(least>=0&&most<2**32)return new Uint32Array(
length);if(least>=-(2**31)&&most<2**31)return new Int32Array(length);return new Float64Array(length)}function addPlanes(values,bytes,width){
const length=values.length;for(let plane=0,scale2=1;plane<width;plane++,scale2*=256){const from=plane*length;for(let i=0;i<
length;i++)values[i]+=bytes[from+i]*scale2}}function addBigPlanes(values,bytes,width){const length=values.length;const words=new Uint8Array(
new ArrayBuffer(8));const word=new DataView(words.buffer);for(let i=0;i<length;i++){for(let plane=0;plane<width;plane++)
words[plane]=bytes[plane*length+i];values[i]+=word.getBigInt64(0,true)}}var HIDDEN=255;var Events=class _Events{count;start;duration;site;flags;payload;payloadEnd;id;lanes;rowStart;rowLane;code;siteName;siteSource;names;sources;origin;cycles;flowSrc;flowDst;inverse=null;busyRows=null;latestEnds=new Map;constructor(wire){
const{header}=wire;const count2=header.events;const gap=wire.get("gap");const duration2=wire.get("duration");const first=wire.
get("lane_first");const perLane=wire.get("lane_count");const start=new Float64Array(count2);const row=new Uint8Array(count2);
const rows=new Uint8Array(perLane.length);let most=1;for(let lane=0,i=0;lane<perLane.length;lane++){const from=i;const to=i+
perLane[lane];for(let at=first[lane];i<to;i++){at+=gap[i];start[i]=at}rows[lane]=stack(start,duration2,from,to,row);most=
Math.max(most,rows[lane])}this.count=count2;this.names=header.names;this.sources=header.sources;this.origin=BigInt(header.
origin);this.siteName=wire.get("site_name");this.siteSource=wire.get("site_source");this.lanes=lanesOf(wire,rows);const total=this.
lanes.reduce((sum,lane)=>sum+lane.rows,0);this.rowStart=new Uint32Array(total+1);this.rowLane=new Uint32Array(total);for(const lane of this.
lanes)this.rowLane.fill(lane.index,lane.row,lane.row+lane.rows);const place=most>1?this.placeByRow(perLane,row):null;if(!place)
for(let lane=0,i=0;lane<perLane.length;lane++)this.rowStart[lane+1]=i+=perLane[lane];this.start=moved(start,place);this.
duration=moved(duration2,place);this.site=moved(wire.get("site"),place);this.flags=moved(wire.get("flags"),place);this.payload=
moved(wire.columns.get("payload"),place);this.payloadEnd=moved(payloadEnds(wire),place);if(sameValues(this.payload,this.
payloadEnd))this.payloadEnd=this.payload;const id=wire.find("id");const positions=id?Uint32Array.from(id):Uint32Array.from(
{length:count2},(_,i)=>i);this.id=moved(positions,place);this.code=new Uint8Array(count2);let cycles=0;for(let i=0;i<count2;i++)
cycles=Math.max(cycles,this.start[i]+this.duration[i]);this.cycles=cycles;[this.flowSrc,this.flowDst]=flowsOf(wire,place)}placeByRow(perLane,row){
const place=new Uint32Array(row.length);const next=new Uint32Array(MOST_ROWS);for(let lane=0,from=0;lane<perLane.length;lane++){
const{row:firstRow,rows}=this.lanes[lane];const to=from+perLane[lane];next.fill(0);for(let i=from;i<to;i++)next[row[i]]++;
for(let r=0,at=from;r<rows;r++){const size=next[r];next[r]=at;at+=size;this.rowStart[firstRow+r+1]=at}for(let i=from;i<to;i++)
place[i]=next[row[i]]++;from=to}return place}end(i){return this.start[i]+this.duration[i]}name(i){return this.names[this.
siteName[this.site[i]]]}nameCode(i){return this.siteName[this.site[i]]}source(i){return this.sources[this.siteSource[this.
site[i]]]}isInstant(i){return(this.flags[i]&INSTANT)!==0}isTruncated(i){return(this.flags[i]&TRUNCATED)!==0}payloadOf(i){
return this.flags[i]&PAYLOAD?this.payload[i]:void 0}payloadEndOf(i){return this.flags[i]&PAYLOAD_END?this.payloadEnd[i]:
void 0}rowOf(i){return upperBound(this.rowStart,i,0,this.rowStart.length)-1}laneOf(i){return this.lanes[this.rowLane[this.
rowOf(i)]]}firstEndingFrom(row,cycle){const from=this.rowStart[row];const to=this.rowStart[row+1];if(this.isCrowded(row))
return from+lowerBound(this.latest(row),cycle,0,to-from);let i=upperBound(this.start,cycle,from,to);while(i>from&&this.end(
i-1)>=cycle)i--;return i}get busy(){if(this.busyRows)return this.busyRows;const found=new Float64Array(this.rowLane.length);
for(let row=0;row<found.length;row++)for(let i=this.rowStart[row];i<this.rowStart[row+1];i++)found[row]+=this.duration[i];
this.busyRows=found;return found}lastEnd(row){const last=this.rowStart[row+1]-1;return this.isCrowded(row)?this.latest(row)[last-
this.rowStart[row]]:this.end(last)}latest(row){let known=this.latestEnds.get(row);if(!known){const from=this.rowStart[row];
known=new Float64Array(this.rowStart[row+1]-from);for(let n=0,end=Number.NEGATIVE_INFINITY;n<known.length;n++)known[n]=end=
Math.max(end,this.end(from+n));this.latestEnds.set(row,known)}return known}isCrowded(row){const lane=this.lanes[this.rowLane[row]];
return row-lane.row===MOST_ROWS-1}positionOf(id){if(!this.inverse){this.inverse=new Uint32Array(this.count);for(let i=0;i<
this.count;i++)this.inverse[this.id[i]]=i}return this.inverse[id]}at(start,duration2,clocks={}){const own={start,duration:duration2,
code:new Uint8Array(this.count),latestEnds:new Map,...clocks};return Object.assign(Object.create(_Events.prototype),this,
own)}retimed(){this.latestEnds.clear()}get bytes(){const columns=new Set([this.start,this.duration,this.site,this.flags,
this.payload,this.payloadEnd,this.id,this.code,this.rowStart,this.rowLane,this.flowSrc,this.flowDst]);if(this.inverse)columns.
add(this.inverse);for(const ends of this.latestEnds.values())columns.add(ends);return[...columns].reduce((sum,column)=>sum+
column.byteLength,0)}};function*eventsBetween(events,row,from,to){const first=events.firstEndingFrom(row,from);const last=lowerBound(
events.start,to,first,events.rowStart[row+1]);for(let i=first;i<last;i++)if(events.code[i]!==HIDDEN&&events.end(i)>=from)
yield i}function upperBound(values,value,from,to){while(from<to){const middle=from+to>>>1;if(values[middle]>value)to=middle;else
from=middle+1}return from}function lowerBound(values,value,from,to){while(from<to){const middle=from+to>>>1;if(values[middle]>=
value)to=middle;else from=middle+1}return from}function lanesOf(wire,rows){const{header}=wire;const column=name3=>wire.get(
`lane_${name3}`);const[cta,x,y,z]=["cta","block_x","block_y","block_z"].map(column);const[thread,sm,group,role]=["thread",
"sm","group","role"].map(column);const[name2,ctaCycles]=["lane","cta_cycles"].map(column);const rank=wire.find("lane_ran\
k");const launch=wire.find("lane_launch");const kernels=new Map(header.launches.map(facts=>[facts.launch,facts.kernel]));
const offset=wire.find("lane_ns_offset");const rate=wire.find("lane_ns_rate");let row=0;return Array.from(rows,(own,index2)=>{
const lane={index:index2,rank:rank?rank[index2]:null,launch:launch?launch[index2]:null,kernel:launch&&kernels.get(launch[index2])||
"",cta:cta[index2],block:[x[index2],y[index2],z[index2]],thread:thread[index2],sm:sm[index2],group:header.groups[group[index2]],
role:header.roles[role[index2]],name:header.lane_names[name2[index2]],row,rows:own,ctaCycles:ctaCycles[index2],nsOffset:offset?
offset[index2]:0,nsRate:rate?rate[index2]:1};row+=own;return lane})}function moved(values,place){if(!place)return values;
const target=new values.constructor(values.length);for(let i=0;i<values.length;i++)target[place[i]]=values[i];return target}
function payloadEnds(wire){const begin2=wire.columns.get("payload");const change=wire.columns.get("change");if(change){const big=begin2 instanceof
BigInt64Array||change instanceof BigInt64Array;if(big)return BigInt64Array.from(begin2,(value,i)=>BigInt(value)+BigInt(change[i]));
const ends2=new Float64Array(begin2.length);for(let i=0;i<ends2.length;i++)ends2[i]=Number(begin2[i])+Number(change[i]);
return ends2.every(value=>value===(value|0))?Int32Array.from(ends2):ends2}const ends=Float64Array.from(begin2);const words=new Uint32Array(
ends.buffer);const low=wire.get("change_low");const high=wire.get("change_high");for(let i=0;i<ends.length;i++){words[2*
i]^=low[i];words[2*i+1]^=high[i]}return ends}function sameValues(a,b){for(let i=0;i<a.length;i++)if(!Object.is(a[i],b[i]))
return false;return true}function flowsOf(wire,place){const[src,dst]=["flow_src","flow_dst"].map(name2=>{const ends=Uint32Array.
from(wire.get(name2));return place?ends.map(i=>place[i]):ends});const order=Uint32Array.from(src,(_,i)=>i).sort((a,b)=>src[a]-
src[b]||dst[a]-dst[b]);return[order.map(i=>src[i]),order.map(i=>dst[i])]}var WHOLE=2**33;function clean(text,chars=200){const parts=Array.from(text.slice(0,4*chars).replace(/\s+/gu," ").trim(),
c=>/[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u.test(c)?"�":c);if(parts.length>chars||
text.length>4*chars)return`${parts.slice(0,chars-1).join("")}…`;return parts.join("")||"(unnamed)"}function payloadValue(value,float){
if(value===void 0)return"";if(typeof value==="bigint"||!float)return String(value);if(Number.isNaN(value))return"nan";if(!Number.
isFinite(value))return value>0?"inf":"-inf";if(Number.isInteger(value)&&Math.abs(value)<WHOLE)return String(value);if(Math.
fround(value)!==value)return scientific(value,String(value),1e-4,1e16);for(let digits=1;digits<=9;digits++){const text=value.
toPrecision(digits);if(Math.fround(Number(text))===value)return scientific(value,String(Number(text)),1e-4,1e16)}return String(
value)}function scientific(value,text,least,most){const size=Math.abs(value);if(size>=least&&size<most)return text.includes(
".")||text.includes("e")?text:`${text}.0`;const[digits,exponent]=Number(text).toExponential().split("e");const sign=exponent[0];
return`${digits}e${sign}${exponent.slice(1).padStart(2,"0")}`}function payloadText(begin2,end){if(!begin2||!end||begin2===
end)return begin2||end;return`${begin2} → ${end}`}function number(value,digits=0){const text=typeof value==="bigint"?String(
value):value.toFixed(digits);if(typeof value!=="bigint"&&!Number.isFinite(value))return"–";const[whole,rest]=text.replace(
/^-(?=[0.]*$)/u,"").split(".");const grouped=whole.replace(/\B(?=(\d{3})+$)/gu,",");return rest===void 0?grouped:`${grouped}\
.${rest}`}function short(value,digits){return number(value,digits).replace(/(\.\d*?)0+$/u,"$1").replace(/\.$/u,"")}function count(value,noun){
return nouns(number(value),value,noun)}function nouns(text,value,noun){return`${text} ${noun}${value===1||value===1n||value===
-1||value===-1n?"":"s"}`}var UNITS=[{size:1e6,unit:"ms",length:3,point:6},{size:1e3,unit:"µs",length:2,point:3},{size:1,
unit:"ns",length:1,point:1}];var NEARLY=.99995;function time(ns,digits){const suited=UNITS.find(({size})=>Math.abs(ns)>=
NEARLY*size)??UNITS[2];return Number.isFinite(ns)?`${number(ns/suited.size,suited[digits])} ${suited.unit}`:"–"}function duration(value,unit){
if(unit==="ns")return time(value,"length");return nouns(short(value,value<10?2:0),value,"cycle")}function moment(ns){return time(
ns,"point")}function percent(share){return Number.isFinite(share)?`${number(100*share,share<.1?2:1)} %`:"–"}var DURATIONS="durations: --on all";function lightHint({light}){return light.length?`◆ a moment, as --auto records it · ${DURATIONS}`:
""}function factsOf(i,events,texts,{ns,light}){const lane=events.laneOf(i);const start=events.origin+BigInt(events.start[i]);
const cycles=events.duration[i];const at=time2=>moment(lane.nsOffset+lane.nsRate*time2);const track=[`thread ${lane.thread}`,
`lane ${clean(lane.name,40)}`];if(lane.group)track.push(`group ${clean(lane.group,40)}`);if(lane.role)track.push(`role ${clean(
lane.role,40)}`);const facts=[];const add2=(key,value)=>value&&facts.push({key,value});add2("payload",payloadText(texts.
begin(i),texts.end(i)));add2("start",[count(start,"cycle"),ns?at(events.start[i]):""].filter(Boolean).join(" · "));if(events.
isInstant(i))add2("duration",light.includes(events.name(i))?`instant · ${DURATIONS}`:"instant");else{const share=lane.ctaCycles>
0?`${percent(cycles/lane.ctaCycles)} of the CTA`:"";add2("duration",[count(cycles,"cycle"),ns?duration(lane.nsRate*cycles,
"ns"):"",share].filter(Boolean).join(" · "))}if(events.isTruncated(i))add2("state","begun, never ended");add2("rank",lane.
rank===null?"":String(lane.rank));add2("launch",lane.launch===null?"":String(lane.launch));add2("CTA",`${lane.cta} (${lane.
block.join(", ")})${lane.sm>=0?` · SM ${lane.sm}`:""}`);add2("track",track.join(" · "));if(events.source(i))add2("sour\
ce",clean(events.source(i)));return facts}function sentence(i,events,texts,header){const facts=factsOf(i,events,texts,header).
map(({key,value})=>`${key} ${value}`);return[clean(texts.name(i)),...facts].join(", ")}function asText(i,events,texts,header){
return[texts.name(i),...factsOf(i,events,texts,header).map(({key,value})=>`${key}	${value}`)].join("\n")}var MOST_ROWS2=50;var Spoken=class{constructor(scene,texts){this.scene=scene;this.texts=texts}scene;texts;live=h("div",{
class:"tlt-sr","aria-live":"polite"});table=h("table",{class:"tlt-sr","aria-label":"Events in view"});say(){const{focused,
events,header}=this.scene;this.live.textContent=focused>=0?sentence(focused,events,this.texts,header):""}list(){const{events,
header}=this.scene;const found=eventsInView(this.scene,MOST_ROWS2);const heads=["name","payload","start","duration","lan\
e"];const body=h("tbody");for(const i of found.positions){const facts=new Map(factsOf(i,events,this.texts,header).map(({
key,value})=>[key,value]));const cells=[this.texts.name(i),...["payload","start","duration","track"].map(key=>facts.get(
key)??"")];body.append(h("tr",{},...cells.map(cell2=>h("td",{},cell2))))}const caption=h("caption",{},found.more?`The fi\
rst ${MOST_ROWS2} events in view`:"Events in view");this.table.replaceChildren(caption,h("thead",{},h("tr",{},...heads.map(
text=>h("th",{scope:"col"},text)))),body)}};function eventsInView(scene,most){const{events,axis,span,rows,state}=scene;const positions=[];
for(const strip of[...rows.pinned,...rows.between(state.scroll,state.scroll+scene.viewHeight)]){if(strip.kind==="head")continue;
for(const lane of strip.node.lanes)for(let row=lane.row;row<lane.row+lane.rows;row++){const{offset,rate}=axis.line(lane);
for(const i of eventsBetween(events,row,(span.from-offset)/rate,(span.to-offset)/rate)){if(positions.length===most)return{
positions,more:true};positions.push(i)}}}return{positions,more:false}}function parse(color){if(color.startsWith("#")){const hex=color.length===4?[...color.slice(1)].map(c=>c+c).join(""):color.
slice(1,7);return[0,2,4].map(at=>Number.parseInt(hex.slice(at,at+2),16))}const parts=color.match(/[\d.]+/g)?.map(Number)??
[];return parts.length>=3?[parts[0],parts[1],parts[2]]:[255,255,255]}function mix(a,b,share){return a.map((value,i)=>Math.
round(value+(b[i]-value)*share))}function css([r,g,b]){return`#${(1<<24|r<<16|g<<8|b).toString(16).slice(1)}`}function luminance(color){
const[r,g,b]=color.map(value=>{const v=value/255;return v<=.04045?v/12.92:((v+.055)/1.055)**2.4});return .2126*r+.7152*g+
.0722*b}function ink(color){return luminance(color)>.18?"#111111":"#ffffff"}function pixel([r,g,b]){return(255<<24|b<<16|
g<<8|r)>>>0}var CIVIDIS=["#00224e","#35456c","#666970","#948e77","#c8b866","#fee838"].map(parse);var SIGNED=["#0b4f8a","\
#56b4e9","#c9ccd1","#e69f00","#a34700"].map(parse);function scale(stops,share){const at=Math.min(Math.max(share,0),1)*(stops.
length-1);const low=Math.min(Math.floor(at),stops.length-2);return mix(stops[low],stops[low+1],at-low)}function sequential(steps){
return Array.from({length:steps},(_,i)=>scale(CIVIDIS,.2+.8*i/(steps-1)))}function diverging(steps){return Array.from({length:steps},
(_,i)=>scale(SIGNED,i/(steps-1)))}function nest(events,axis,wanted){const roots=new Map;const paths=[];const number2=new Map;const pathOf=new Int32Array(events.
count).fill(-1);for(const lane of events.lanes){const{rate}=axis.line(lane);const open=[];for(const i of inOrder(events,
lane,wanted)){const[start,end]=[events.start[i],events.end(i)];while(open.length&&(open[open.length-1].end<end||open[open.
length-1].end<=start))open.pop();const outer=open.length?open[open.length-1]:null;if(outer){outer.path.self-=rate*Math.max(
end-Math.max(start,outer.until),0);outer.until=Math.max(outer.until,end)}const siblings2=outer?outer.path.inside:roots;const name2=events.
nameCode(i);let path=siblings2.get(name2);if(!path){path={name:name2,above:outer?.path??null,inside:new Map,count:0,total:0,
self:0};siblings2.set(name2,path);number2.set(path,paths.push(path)-1)}path.count++;path.total+=rate*(end-start);path.self+=
rate*(end-start);pathOf[i]=number2.get(path);open.push({path,end,until:start})}}return{roots:largestFirst(roots.values()),
of:i=>paths[pathOf[i]]??null}}function largestFirst(paths){return[...paths].sort((a,b)=>b.total-a.total||a.name-b.name)}
function widthOf({self,inside:inside2}){let width=self;for(const each of inside2.values())width+=widthOf(each);return width}
function inOrder(events,lane,wanted){const found=[];for(let i=events.rowStart[lane.row];i<events.rowStart[lane.row+lane.
rows];i++)if(!events.isInstant(i)&&wanted(i))found.push(i);if(lane.rows===1)return found;const{start,duration:duration2,
id}=events;return found.sort((a,b)=>start[a]-start[b]||duration2[b]-duration2[a]||id[a]-id[b])}var ROW=21;var LEAST=1/1500;function flame(scene,nesting,choose){const whole=nesting.roots.reduce((sum,path)=>sum+widthOf(
path),0)||1;const boxes=[];let rows=0;const add2=(paths,left,row)=>{let x=left;for(const path of largestFirst(paths)){const share=widthOf(
path)/whole;if(share>=LEAST){boxes.push(box(scene,path,x,share,row,choose));rows=Math.max(rows,row+1);add2(path.inside.values(),
x,row+1)}x+=share}};add2(nesting.roots,0,0);const root=h("div",{class:"tlt-flame",role:"group","aria-label":"Time by nes\
ting"},...boxes);root.style.height=`${rows*ROW}px`;return root}function box({events,paint,axis},path,left,share,row,choose){
const names=[];for(let each=path;each;each=each.above)names.unshift(clean(events.names[each.name],60));const{total,self}=path;
const[all,own]=[total,self].map(time2=>duration(time2,axis.unit));const words=`${names.join(" / ")}: ${count(path.count,
"time")}, ${all}`;const title=path.inside.size?`${words}, ${own} of it in no range inside`:words;const button2=h("button",
{type:"button",title,"aria-label":title},h("bdi",{},names[names.length-1]));const color=paint.nameRgb(path.name);button2.
style.cssText=`left:${100*left}%;top:${row*ROW}px;width:${100*share}%;background:${css(color)};color:${ink(color)}`;button2.
addEventListener("click",()=>choose(path));return button2}function statistics(events,axis,positions){const counts=new Map;const durations=new Map;for(const i of positions){const name2=events.
nameCode(i);counts.set(name2,(counts.get(name2)??0)+1);if(events.isInstant(i))continue;const list=durations.get(name2);const length=axis.
line(events.laneOf(i)).rate*events.duration[i];if(list)list.push(length);else durations.set(name2,[length])}const totals=new Map(
[...durations].map(([name2,list])=>[name2,list.reduce((a,b)=>a+b,0)]));const all=[...totals.values()].reduce((a,b)=>a+b,
0);const rows=[...counts].map(([name2,count2])=>{const list=durations.get(name2);if(!list)return{name:name2,count:count2};
const sorted=Float64Array.from(list).sort();const total=totals.get(name2);return{name:name2,count:count2,total,mean:total/
list.length,p50:quantile(sorted,.5),p99:quantile(sorted,.99),share:all>0?total/all:0}});return rows.sort((a,b)=>(b.total??
-1)-(a.total??-1)||b.count-a.count||a.name-b.name)}function quantile(sorted,share){const at=share*(sorted.length-1);const low=Math.
floor(at);const high=Math.min(low+1,sorted.length-1);return sorted[low]+(sorted[high]-sorted[low])*(at-low)}var LEAST_SHARE=.5;function fold(events,anchor){const ctas=new Map;for(const lane of events.lanes){const key=`${lane.rank}\
|${lane.launch}|${lane.cta}`;const known=ctas.get(key);if(known)known.push(lane);else ctas.set(key,[lane])}const periods=[];
const found=new Map;for(const lanes of ctas.values()){const begins=lanes.map(lane=>startsOn(events,lane,anchor)).find(starts=>starts.
length>1);if(!begins)continue;for(let k=1;k<begins.length;k++)periods.push(begins[k]-begins[k-1]);for(const lane of lanes)
gather(events,lane,begins,found)}if(!periods.length)return null;const rows=new Map;for(const{label,name:name2,starts,ends}of found.
values()){const share=starts.length/periods.length;if(share<LEAST_SHARE)continue;const bar={name:name2,start:spread(starts),
end:spread(ends),share:Math.min(share,1)};rows.set(label,[...rows.get(label)??[],bar])}const ordered=[...rows].map(([label,
bars])=>({label,bars:bars.sort((a,b)=>a.start[1]-b.start[1])}));return{period:spread(periods),iterations:periods.length,
rows:ordered}}function startsOn(events,lane,name2){const starts=[];for(let i=events.rowStart[lane.row];i<events.rowStart[lane.
row+lane.rows];i++)if(events.nameCode(i)===name2&&events.code[i]!==HIDDEN)starts.push(events.start[i]);return Float64Array.
from(starts).sort()}function gather(events,lane,begins,found){const label=[lane.role||(lane.group!=="default"?lane.group:
""),`t${lane.thread}`,lane.name].join(" ").trim();const positions=[];for(let i=events.rowStart[lane.row];i<events.rowStart[lane.
row+lane.rows];i++)if(events.code[i]!==HIDDEN&&!events.isInstant(i))positions.push(i);positions.sort((a,b)=>events.start[a]-
events.start[b]||a-b);let window2=-1;let seen=new Map;for(const i of positions){const at=upperBound(begins,events.start[i],
0,begins.length)-1;if(at<0||at>=begins.length-1)continue;if(at!==window2)[window2,seen]=[at,new Map];const name2=events.
nameCode(i);const nth=seen.get(name2)??0;seen.set(name2,nth+1);const key=`${label}|${name2}|${nth}`;const known=found.get(
key)??{label,name:name2,starts:[],ends:[]};known.starts.push(events.start[i]-begins[at]);known.ends.push(events.end(i)-begins[at]);
found.set(key,known)}}function spread(values){const sorted=Float64Array.from(values).sort();return[quantile(sorted,.1),quantile(
sorted,.5),quantile(sorted,.9)]}function usualAnchor(events){let best={lane:null,count:0};for(const lane of events.lanes){
let count2=0;for(let i=events.rowStart[lane.row];i<events.rowStart[lane.row+lane.rows];i++)if(events.code[i]!==HIDDEN&&!events.
isInstant(i))count2++;if(count2>best.count)best={lane,count:count2}}if(!best.lane)return-1;const counts=new Map;for(let i=events.
rowStart[best.lane.row];i<events.rowStart[best.lane.row+best.lane.rows];i++)if(events.code[i]!==HIDDEN&&!events.isInstant(
i))counts.set(events.nameCode(i),(counts.get(events.nameCode(i))??0)+1);return[...counts].reduce((most,each)=>each[1]>most[1]?
each:most)[0]}var KEPT=2;var Levels=class{constructor(events){this.events=events}events;kept=new Map;clear(){this.kept.clear()}of(row,cycles){
const size=2**Math.max(0,Math.floor(Math.log2(cycles)));const known=this.kept.get(row)??[];let level=known.find(each=>each.
size===size);if(!level){level=build(this.events,row,size);this.kept.set(row,[level,...known].slice(0,KEPT))}return level}get bytes(){
let sum=0;for(const levels of this.kept.values())for(const each of levels)sum+=each.at.byteLength+each.code.byteLength+each.
busy.byteLength+each.long.byteLength;return sum}};function build(events,row,size){const{start,duration:duration2,code}=events;
const tally=new Tally;const at=[];const codes=[];const busy=[];const long=[];let bin=Number.NaN;const flush=()=>{if(tally.
empty)return;codes.push(tally.dominant);busy.push(tally.total);tally.clear()};for(let i=events.rowStart[row];i<events.rowStart[row+
1];i++){if(code[i]===HIDDEN)continue;if(duration2[i]>=size){long.push(i);continue}const own=Math.floor(start[i]/size);if(own!==
bin){flush();bin=own;at.push(start[i])}tally.add(code[i],Math.max(duration2[i],1))}flush();return{size,at:Float64Array.from(
at),code:Uint8Array.from(codes),busy:Float32Array.from(busy),long:Uint32Array.from(long)}}var Tally=class{time=new Float64Array(
256);seen=[];total=0;add(code,time2){if(this.time[code]===0)this.seen.push(code);this.time[code]+=time2;this.total+=time2}get empty(){
return this.seen.length===0}get dominant(){let best=this.seen[0];for(const code of this.seen){if(this.time[code]>this.time[best]||
this.time[code]===this.time[best]&&code<best)best=code}return best}clear(){for(const code of this.seen)this.time[code]=0;
this.seen.length=0;this.total=0}};var SHADES=8;var SHORT=24;var Raster=class{constructor(events,levels){this.events=events;this.levels=levels}events;levels;tally=new Tally;columns=[];colors=[];column=-1;paint(line,row,view,inks,notes2){
const{events}=this;const{cycle,scale:scale2,width}=view;const last=cycle+width/scale2;const from=events.firstEndingFrom(
row,cycle);const to=lowerBound(events.start,last,from,events.rowStart[row+1]);const most=2*width;let looked=to-from;const one=i=>{
const code=events.code[i];if(code===HIDDEN)return;const x=(events.start[i]-cycle)*scale2;const length=events.duration[i]*
scale2;if(x+length<0)return;if(length<1){if(length===0&&looked<=most)notes2.point(i,Math.floor(x));this.gather(Math.max(
Math.floor(x),0),code,Math.max(events.duration[i],1),inks,scale2,width);return}const a=Math.round(x);const b=Math.max(Math.
round(x+length),a+1);const ink2=inks.body[code];const end=Math.min(b,width);if(b-a>SHORT)line.fill(ink2,Math.max(a,0),end);else
for(let x2=Math.max(a,0);x2<end;x2++)line[x2]=ink2;if(a>=0&&a<width&&length>=3)line[a]=inks.edge[code];if(b-a>=notes2.least)
notes2.bar(i,a,b)};if(looked<=most||scale2>=1){for(let i=from;i<to;i++)one(i)}else{const level=this.levels.of(row,1/scale2);
const firstLong=lowerBound(level.long,from,0,level.long.length);const lastLong=lowerBound(level.long,to,firstLong,level.
long.length);for(let n=firstLong;n<lastLong;n++)one(level.long[n]);this.flush(inks,scale2);const firstBin=lowerBound(level.
at,cycle-level.size,0,level.at.length);let bin=firstBin;for(;bin<level.at.length&&level.at[bin]<last;bin++){const x=Math.
floor((level.at[bin]-cycle)*scale2);this.gather(Math.max(x,0),level.code[bin],level.busy[bin],inks,scale2,width)}looked=
lastLong-firstLong+bin-firstBin}this.flush(inks,scale2);for(let n=0;n<this.columns.length;n++)line[this.columns[n]]=this.
colors[n];this.columns.length=this.colors.length=0;return looked}gather(column,code,time2,inks,scale2,width){if(column>=
width)return;if(column!==this.column){this.flush(inks,scale2);this.column=column}this.tally.add(code,time2)}flush(inks,scale2){
if(this.tally.empty)return;const share=Math.min(this.tally.total*scale2,1);this.columns.push(this.column);this.colors.push(
inks.shade[this.tally.dominant*SHADES+Math.min(Math.floor(share*SHADES),SHADES-1)]);this.tally.clear();this.column=-1}};var COLOR_BY=["name","payload","duration","lane"];var DIM=128;var STEPS=32;var NONE=STEPS;var GREY=[150,154,160];var FILTERED=1;
var SELECTED=2;var MATCHED=4;var Paint=class{constructor(events,palette,nameColor){this.events=events;this.palette=palette;
this.nameColor=nameColor;this.marks=new Uint8Array(events.count)}events;palette;nameColor;colors=[];inks={body:new Uint32Array(
256),edge:new Uint32Array(256),shade:new Uint32Array(256*SHADES)};scale=null;marks;by="name";rates=new Float64Array(0);colorBy(by,axis){
const{events}=this;this.by=by;this.rates=Float64Array.from(events.lanes,lane=>axis.line(lane).rate);this.scale=by==="pay\
load"?payloadScale(events):by==="duration"?durationScale(events,this.rates):null;const steps=this.scale?.signed?diverging(
STEPS):sequential(STEPS);this.colors=this.scale?[...steps,GREY]:this.palette.map(parse)}code(dim){const{events,marks}=this;
const{code}=events;const own=this.plainCode();for(let row=0;row<events.rowLane.length;row++){const lane=events.rowLane[row];
for(let i=events.rowStart[row];i<events.rowStart[row+1];i++){if(marks[i]&FILTERED)code[i]=HIDDEN;else code[i]=own(i,lane)+
(dim&&!(marks[i]&dim)?DIM:0)}}}plainCode(){const{events,nameColor,scale:scale2}=this;if(this.by==="lane")return(_,lane)=>lane%
8;if(!scale2)return i=>nameColor[events.siteName[events.site[i]]];if(this.by==="duration"){const low=Math.log2(scale2.low);
const wide2=Math.max(Math.log2(scale2.high)-low,1e-9);return(i,lane)=>step((Math.log2(Math.max(events.duration[i],1)*this.
rates[lane])-low)/wide2)}const wide=Math.max(scale2.high-scale2.low,1e-9);return i=>{const value=Number(events.payload[i]);
return events.flags[i]&PAYLOAD&&!Number.isNaN(value)?step((value-scale2.low)/wide):NONE}}ink(theme){const{body,edge,shade}=this.
inks;const{ground}=theme;this.colors.forEach((full,n)=>{for(const code of[n,n+DIM]){const color=code===n?full:mix(full,ground,
.8);body[code]=pixel(color);edge[code]=pixel(mix(color,theme.dark?ground:[0,0,0],code===n?.4:.15));for(let s=0;s<SHADES;s++)
shade[code*SHADES+s]=pixel(mix(ground,color,.6+.4*s/(SHADES-1)))}})}colorOf(i){return this.colors[this.events.code[i]%DIM]}barOf(i,theme){
const full=this.colorOf(i);return css(this.events.code[i]>=DIM?mix(full,theme.ground,.8):full)}textOn(i,theme){return this.
events.code[i]>=DIM?theme.soft:ink(this.colorOf(i))}nameRgb(name2){return parse(this.palette[this.nameColor[name2]])}nameCss(name2){
return css(this.nameRgb(name2))}};function step(share){return Math.min(Math.max(Math.floor(share*STEPS),0),STEPS-1)}function payloadScale(events){
let low=Number.POSITIVE_INFINITY;let high=Number.NEGATIVE_INFINITY;for(let i=0;i<events.count;i++){const value=Number(events.
payload[i]);if(!(events.flags[i]&PAYLOAD)||!Number.isFinite(value))continue;low=Math.min(low,value);high=Math.max(high,value)}
if(low>high)return{low:0,high:1,signed:false};if(low>=0||high<=0)return{low,high,signed:false};const most=Math.max(-low,
high);return{low:-most,high:most,signed:true}}function durationScale(events,rates){let low=Number.POSITIVE_INFINITY;let high=Number.
NEGATIVE_INFINITY;for(let row=0;row<events.rowLane.length;row++)for(let i=events.rowStart[row];i<events.rowStart[row+1];i++){
if(events.isInstant(i))continue;const length=Math.max(events.duration[i],1)*rates[events.rowLane[row]];low=Math.min(low,
length);high=Math.max(high,length)}return low<=high?{low,high,signed:false}:{low:1,high:1,signed:false}}var BINS=32;var[WIDE,HIGH]=[160,20];var MOST_NAMES=60;var Aggregate=class{constructor(scene){this.scene=scene}scene;root=h(
"div",{class:"tlt-aggregate",role:"region","aria-label":"All CTAs",hidden:true});anchor=-1;toggle(){this.root.hidden=!this.
root.hidden;this.show()}show(){if(this.root.hidden)return;this.root.replaceChildren(this.names(),this.nesting(),this.iteration())}follow(){
if(!this.root.hidden)this.root.lastElementChild?.replaceWith(this.iteration())}nesting(){const{scene}=this;const{events,
axis,selected,paint}=scene;const chosen=i=>!selected||(paint.marks[i]&SELECTED)!==0;const nesting=nest(events,axis,i=>events.
code[i]!==HIDDEN&&chosen(i));const choose=path=>{const found=[];for(let i=0;i<events.count;i++){let each=nesting.of(i);while(each&&
each!==path)each=each.above;if(each)found.push(i)}scene.select(Uint32Array.from(found))};return h("section",{},h("h3",{},
`Time by nesting of ${this.counted}`),h("div",{class:"tlt-count"},"what is inside a range is below it; a click selects a\
 range with what is inside"),flame(scene,nesting,choose))}get counted(){const{events,selected}=this.scene;if(selected)return"\
what is selected";return events.code.includes(HIDDEN)?"what is shown":"all CTAs"}names(){const{events,axis,selected}=this.
scene;const lengths=new Map;const add2=(i,rate)=>{if(events.code[i]===HIDDEN||events.isInstant(i))return;const list=lengths.
get(events.nameCode(i));const one={length:rate*events.duration[i],i};if(list)list.push(one);else lengths.set(events.nameCode(
i),[one])};if(selected)for(const i of selected)add2(i,axis.line(events.laneOf(i)).rate);else for(let row=0;row<events.rowLane.
length;row++){const{rate}=axis.line(events.lanes[events.rowLane[row]]);for(let i=events.rowStart[row];i<events.rowStart[row+
1];i++)add2(i,rate)}const total=list=>list.reduce((sum,{length})=>sum+length,0);const order=[...lengths].sort((a,b)=>total(
b[1])-total(a[1])).slice(0,MOST_NAMES);const body=h("tbody",{},...order.map(([name2,list])=>this.row(name2,list)));const heads=[
"name","durations","count","least","p10","p50","p90","p99","most"];const head=h("thead",{},h("tr",{},...heads.map(text=>h(
"th",{scope:"col"},text))));const title=`Durations of ${this.counted}, ${axis.unit}`;return h("section",{},h("h3",{},title),
h("table",{"aria-label":title},head,body))}row(name2,list){const{events}=this.scene;const sorted=Float64Array.from(list,
({length})=>length).sort();const text=value=>number(value,value%1?1:0);const at=[0,.1,.5,.9,.99,1].map(share=>text(quantile(
sorted,share)));return h("tr",{},h("td",{},clean(events.names[name2],60)),h("td",{},this.histogram(name2,list,sorted)),h(
"td",{},number(list.length)),...at.map(value=>h("td",{},value)))}histogram(name2,list,sorted){const[low,high]=[sorted[0],
sorted[sorted.length-1]];const binOf=length=>high>low?Math.min(Math.floor((length-low)/(high-low)*BINS),BINS-1):0;const counts=new Uint32Array(
BINS);for(const{length}of list)counts[binOf(length)]++;const most=counts.reduce((a,b)=>Math.max(a,b),1);const picture=svg(
"svg",{width:WIDE,height:HIGH,viewBox:`0 0 ${WIDE} ${HIGH}`,class:"tlt-histogram"});counts.forEach((n,bin)=>{const tall=n?
Math.max(n/most*(HIGH-1),1.5):0;const wide=WIDE/BINS;picture.append(svg("rect",{x:bin*wide,y:HIGH-tall,width:wide-.5,height:tall,
fill:this.scene.paint.nameCss(name2)}))});const button2=h("button",{type:"button",title:"a click selects the events of a\
 bar","aria-label":"histogram"});button2.append(picture);button2.addEventListener("click",event=>{const box2=picture.getBoundingClientRect();
const bin=Math.floor((event.clientX-box2.left)/box2.width*BINS);const chosen=list.filter(({length})=>binOf(length)===bin).
map(({i})=>i);if(chosen.length)this.scene.select(Uint32Array.from(chosen).sort())});return button2}iteration(){const{events,
focused}=this.scene;if(focused>=0)this.anchor=events.nameCode(focused);const anchor=this.anchor>=0?this.anchor:usualAnchor(
events);const folded=anchor<0?null:fold(events,anchor);if(!folded)return h("section",{},h("h3",{},"No iterations: no ran\
ge is there twice on a lane"));const from=clean(events.names[anchor],40);const[,period]=folded.period;const title=`The a\
verage iteration, from ${from} to ${from}: ${duration(period,"cycles")}`;const of=`median of ${count(folded.iterations,"\
iteration")}; thin lines: from p10 to p90; click an event of another name to begin there`;const rows=folded.rows.map(({label,
bars})=>h("div",{class:"tlt-fold"},h("span",{},label),wrap(this.folded(folded,bars))));return h("section",{},h("h3",{},title),
h("div",{class:"tlt-count"},of),...rows)}folded(folded,bars){const most=Math.max(folded.period[2],...folded.rows.flatMap(
row=>row.bars.map(({end})=>end[1])),1);const picture=svg("svg",{width:"100%",height:HIGH,viewBox:`0 0 1000 ${HIGH}`,preserveAspectRatio:"\
none"});const x=cycles=>1e3*cycles/most;for(const{name:name2,start,end,share}of bars){const color=this.scene.paint.nameCss(
name2);const wide=Math.max(x(end[1])-x(start[1]),1.5);const bar=svg("rect",{x:x(start[1]),y:3,width:wide,height:HIGH-8,fill:color,
opacity:share});const words=`${this.scene.events.names[name2]}: ${duration(start[1],"cycles")} to ${duration(end[1],"cyc\
les")}`;const title=svg("title",{});title.textContent=words;bar.append(title);picture.append(bar);for(const[low,,high]of[
start,end])picture.append(svg("rect",{x:x(low),y:HIGH-4,width:Math.max(x(high)-x(low),1),height:2,fill:color}))}picture.
append(svg("rect",{x:x(folded.period[1]),y:0,width:1,height:HIGH,fill:"currentColor"}));return picture}};function wrap(picture){
const box2=h("span");box2.append(picture);return box2}function namespaceOfPictures(){return new DOMParser().parseFromString(
"<svg></svg>","text/html").body.children[0].namespaceURI}function svg(tag,attributes){const element=document.createElementNS(
namespaceOfPictures(),tag);for(const[key,value]of Object.entries(attributes))element.setAttribute(key,String(value));return element}var PLAIN={collapsed:new Set,hidden:new Set,pinned:[],order:new Map};var ROW2=18;var GAP=4;var HEAD=20;var LABEL=13;var WHOLE2=533;
var LEAST_FOLDED=4;var HIGH2=3;var MOST_FOLDED=8e4;var UNDER=7;var PART_KEY=({rank,launch})=>rank!==null?`rank${rank}`:launch!==
null?`launch${launch}`:"";var PART=({rank,launch,kernel})=>{if(rank!==null)return`rank ${rank}`;return launch!==null?[`l\
aunch ${launch}`,clean(kernel,30)].filter(Boolean).join(" · "):""};var SM=lane=>lane.sm>=0?`SM ${lane.sm}`:"";var CTA=lane=>`\
CTA ${lane.cta}`;var THREAD=lane=>{const words=[lane.group,lane.role].filter(word=>word&&word!=="default");return[...new Set(
words.map(word=>clean(word,24))),`t${lane.thread}`].join(" ")};var LANE=lane=>clean(lane.name,40);var STEPS2=[{key:PART_KEY,
words:PART},{key:lane=>`sm${lane.sm}`,words:SM},{key:lane=>`cta${lane.cta}`,words:CTA},{key:lane=>`t${lane.thread}:${lane.
group}`,words:THREAD},{key:lane=>`lane${lane.name}`,words:LANE}];function tree(lanes){const ordered=[...lanes].sort((a,b)=>(a.
rank??0)-(b.rank??0)||(a.launch??0)-(b.launch??0)||a.sm-b.sm||a.cta-b.cta||a.index-b.index);return branches(ordered,0,"",
"",0)}function branches(lanes,step2,key,label,depth){const groups=new Map;for(const lane of lanes){const own=STEPS2[step2].
key(lane);const group=groups.get(own);if(group)group.push(lane);else groups.set(own,[lane])}return[...groups].flatMap(([
own,members])=>{if(!own)return branches(members,step2+1,key,label,depth);const path=key?`${key}/${own}`:own;const words=[
label,STEPS2[step2].words(members[0])].filter(Boolean).join(" · ");if(step2===STEPS2.length-1)return[{key:path,label:groups.
size===1&&label&&own==="lanemain"?label:words,children:[],lanes:members,depth}];const alone=new Set(members.map(STEPS2[step2+
1].key)).size===1;if(alone)return branches(members,step2+1,path,words,depth);return[{key:path,label:words,children:branches(
members,step2+1,path,"",depth+1),lanes:members,depth}]})}var Rows=class{pinned=[];strips=[];pinnedHeight=0;height;hiddenCount;constructor(roots,arrangement,under=0){
let top=0;let hidden=0;const share=Math.floor(WHOLE2/Math.max(arrangement.collapsed.size,1));const folded=Math.min(Math.
max(share,LEAST_FOLDED),HEAD);const add2=(into,node,depth,label)=>{if(arrangement.hidden.has(node.key)){hidden++;return}
const kind=arrangement.collapsed.has(node.key)?"summary":node.children.length?"head":"lane";const body=kind==="lane"?node.
lanes[0].rows*ROW2+GAP:kind==="summary"?folded:HEAD;const height=kind==="head"?body:body+under;const strip={node,label,kind,
depth,top,height,body,bottom:top+height};into.push(strip);top+=height;if(kind!=="head")return;for(const child of inOrder2(
node.children,node.key,arrangement))add2(into,child,depth+1,child.label);strip.bottom=top};if(arrangement.pinned.length){
const byKey=index(roots,new Set(arrangement.pinned));for(const key of arrangement.pinned){const found=byKey.get(key);if(found)
add2(this.pinned,found.node,0,found.label)}this.pinnedHeight=top;top=0;hidden=0}for(const root of inOrder2(roots,"",arrangement))
add2(this.strips,root,0,root.label);this.height=top;this.hiddenCount=hidden}between(from,to){const found=[];for(let n=this.
at(from);n<this.strips.length&&this.strips[n].top<to;n++)found.push(this.strips[n]);return found}stuck(scroll){const found=[];
for(;;){const y=scroll+found.length*HEAD;let n=this.at(y);while(n>0&&this.strips[n]?.depth>found.length)n--;const strip=this.
strips[n];if(strip?.kind!=="head"||strip.depth!==found.length||strip.top>=y||strip.bottom<y+HEAD)return found;found.push(
strip)}}at(y){let low=0;let high=this.strips.length;while(low<high){const middle=low+high>>>1;if(this.strips[middle].top+
this.strips[middle].height>y)high=middle;else low=middle+1}return low}showing(lane){return this.strips.find(strip=>strip.
kind!=="head"&&strip.node.lanes.includes(lane))}};function inOrder2(nodes,parent,arrangement){const wanted=arrangement.order.
get(parent);if(!wanted)return nodes;const place=new Map(wanted.map((key,n)=>[key,n]));return[...nodes].sort((a,b)=>(place.
get(a.key)??nodes.length)-(place.get(b.key)??nodes.length))}function index(nodes,wanted,above="",found=new Map){for(const node of nodes){
const label=above?`${above} · ${node.label}`:node.label;if(wanted.has(node.key))found.set(node.key,{node,label});index(
node.children,wanted,label,found)}return found}function foldedAtFirst(roots,count2){if(count2>MOST_FOLDED)return[];const whole=new Rows(
roots,PLAIN).height;const nodes=roots.flatMap(root=>hasParts(root)&&root.children.length?root.children:[root]);const high=roots.
filter(hasParts).length>1?WHOLE2:HIGH2*WHOLE2;return whole>high&&nodes.length>1?nodes.map(node=>node.key):[]}function hasParts({
lanes:[first]}){return first.rank!==null||first.launch!==null}function siblings(roots,key,arrangement){const search=(nodes,parent)=>{
if(nodes.some(node=>node.key===key))return{parent,keys:inOrder2(nodes,parent,arrangement).map(node=>node.key)};for(const node of nodes){
const found=search(node.children,node.key);if(found)return found}return null};return search(roots,"")??{parent:"",keys:[]}}var FONT="system-ui, -apple-system, 'Segoe UI', sans-serif";var AXIS=26;function placed(scene,frame){const{rows,state}=scene;
const top=AXIS+rows.pinnedHeight;const pinned=rows.pinned.map(strip=>({strip,y:AXIS+strip.top}));const inView=rows.between(
state.scroll,state.scroll+frame.height-top);return[...pinned,...inView.map(strip=>({strip,y:top+strip.top-state.scroll}))]}
function stuck({rows,state}){const top=AXIS+rows.pinnedHeight;return rows.stuck(state.scroll).map((strip,n)=>({strip,y:top+
n*HEAD}))}function middleOf({strip,y},row){if(strip.kind!=="lane")return y+strip.body/2;return y+GAP/2+(row-strip.node.lanes[0].
row+.5)*ROW2}function xOf(time2,span,frame){return frame.gutter+(time2-span.from)/(span.to-span.from)*(frame.width-frame.
gutter)}function timeAt(x,span,frame){return span.from+(x-frame.gutter)/(frame.width-frame.gutter)*(span.to-span.from)}var Places=class{constructor(scene,shown,frame){
this.scene=scene;this.frame=frame;for(const each of shown)if(each.strip.kind!=="head")for(const lane of each.strip.node.
lanes)this.byLane.set(lane.index,each);const over=scene.rows.pinnedHeight+stuck(scene).length*HEAD;this.covered=over?AXIS+
over+ROW2/4:0}scene;frame;byLane=new Map;covered;start(i){return this.at(i,this.scene.axis.startOf(i))}end(i){return this.
at(i,this.scene.axis.endOf(i))}at(i,time2){const row=this.scene.events.rowOf(i);const strip=this.byLane.get(this.scene.events.
rowLane[row]);if(!strip)return null;const{ratio}=this.frame;const y=middleOf(strip,row);if(y<this.covered&&!this.scene.rows.
pinned.includes(strip.strip))return null;return{x:xOf(time2,this.scene.span,this.frame)*ratio,y:y*ratio}}};var MOST_DRAWN=4e3;var EDGE=3;var MARK=2;var FLAG=4;var Bands=class{constructor(over,scene){this.over=over;this.scene=scene;
const{cta,part,start,end}=over.spans;cta.forEach((id,n)=>{const key=keyOf(id,part?.[n]??null);const known=this.byCta.get(
key);if(known)known.push(n);else this.byCta.set(key,[n])});for(const[key,spans]of this.byCta)this.starts.set(key,Float64Array.
from(spans,n=>start[n]));this.longest=start.reduce((most,from,n)=>Math.max(most,end[n]-from),0)}over;scene;byCta=new Map;starts=new Map;longest;draw(context,shown,frame,theme){
const{scene,over}=this;const{ratio}=frame;const origin=Number(scene.events.origin);const ends=new Map;const begins=new Map;
let drawn=0;context.textBaseline="middle";context.textAlign="left";context.font=`600 ${10.5*ratio}px ${FONT}`;for(const{
strip,y}of shown){if(strip.kind==="head")continue;const done=new Set;for(const lane of strip.node.lanes){const key=keyOf(
lane.cta,lane.launch??lane.rank);const spans=this.byCta.get(key);if(!spans)continue;const{offset,rate}=scene.axis.line(lane);
const cycle=time2=>(time2-offset)/rate+origin;const from=lowerBound(this.starts.get(key),cycle(scene.span.from)-this.longest,
0,spans.length);for(let k=from;k<spans.length&&drawn<MOST_DRAWN;k++){const n=spans[k];if(over.spans.start[n]>cycle(scene.
span.to))break;const{thread,lane:name2}=over.spans;if(done.has(n)||thread&&thread[n]!==lane.thread||name2&&name2[n]!==lane.
name)continue;done.add(n);const place=value=>xOf(offset+rate*(value-origin),scene.span,frame)*ratio;const[left,right]=[place(
over.spans.start[n]),place(over.spans.end[n])];const box2={x:left,y:(y+1)*ratio,w:Math.max(right-left,ratio),h:(strip.body-
2)*ratio};if(right>left)this.band(context,box2,over.spans.text[n],frame,theme);else{const until=k+1<spans.length?place(over.
spans.start[spans[k+1]]):Number.POSITIVE_INFINITY;const text=begins.has(n)?"":over.spans.text[n];this.mark(context,{...box2,
w:until-left},text,frame,theme)}drawn++;if(begins.has(n))continue;begins.set(n,{x:left,y:box2.y+box2.h/2});ends.set(n,{x:right,
y:box2.y+box2.h/2})}}}if(over.linked)this.links(context,begins,ends,frame,theme)}band(context,box2,text,frame,theme){const{
ratio}=frame;context.fillStyle=theme.accent;context.globalAlpha=this.over.linked?0:.12;context.fillRect(box2.x,box2.y,box2.
w,box2.h);context.globalAlpha=1;const edge=Math.min(EDGE*ratio,box2.h/3);context.fillRect(box2.x,box2.y+box2.h-edge,box2.
w,edge);context.fillRect(box2.x,box2.y,ratio,box2.h);if(!this.over.linked)this.text(context,box2,text,frame,theme)}mark(context,box2,text,frame,theme){
const{ratio,gutter}=frame;context.fillStyle=theme.accent;context.fillRect(Math.round(box2.x)-ratio,box2.y,MARK*ratio,box2.
h);const wide=context.measureText(text).width+2*FLAG*ratio;if(!text||wide>box2.w||box2.x<gutter*ratio||box2.h<LABEL*ratio)
return;context.fillRect(box2.x,box2.y,wide,LABEL*ratio);context.fillStyle=css(theme.ground);context.fillText(text,box2.x+
FLAG*ratio,box2.y+(LABEL/2+.5)*ratio)}text(context,box2,text,{ratio,width,gutter},theme){const from=Math.max(box2.x,gutter*
ratio)+4*ratio;const room=Math.min(box2.x+box2.w,width*ratio)-from-3*ratio;if(!text||room<40*ratio||box2.h<LABEL*ratio)return;
context.save();context.beginPath();context.rect(from-2*ratio,box2.y,room+2*ratio,box2.h);context.clip();const middle=box2.
y+box2.h/2;context.fillStyle=css(theme.ground);context.fillRect(from-2*ratio,middle-LABEL/2*ratio,context.measureText(text).
width+4*ratio,LABEL*ratio);context.fillStyle=theme.accent;context.fillText(text,from,middle);context.restore()}links(context,begins,ends,{
ratio},theme){context.strokeStyle=theme.accent;context.lineWidth=1.5*ratio;context.beginPath();for(const spans of this.byCta.
values())for(let k=1;k<spans.length;k++){const[from,to]=[ends.get(spans[k-1]),begins.get(spans[k])];if(!from||!to||Math.
max(from.y,to.y)<AXIS*ratio)continue;context.moveTo(from.x,from.y);context.lineTo(to.x,to.y)}context.stroke()}};function keyOf(cta,part){
return`${part??""}|${cta}`}var LEAST2=.005;function differences(before,now){const old=means(before);const found=new Map;for(const[name2,mean]of means(
now)){const was=old.get(name2);if(was===void 0)found.set(name2,"new");else if(was>0&&Math.abs(mean/was-1)>=LEAST2)found.
set(name2,`${mean>was?"+":"−"}${percent(Math.abs(mean/was-1))}`)}return found}function means(events){const total=new Float64Array(
events.names.length);const count2=new Uint32Array(events.names.length);for(let i=0;i<events.count;i++){if(events.isInstant(
i))continue;total[events.nameCode(i)]+=events.duration[i];count2[events.nameCode(i)]++}return new Map(events.names.flatMap(
(name2,n)=>count2[n]?[[name2,total[n]/count2[n]]]:[]))}var FIELDS={payload:"payload",p:"payload",duration:"duration",dur:"duration",start:"start",end:"end",cta:"cta",sm:"sm",launch:"\
launch",thread:"thread",t:"thread",lane:"lane",group:"group",role:"role",source:"source",kind:"kind"};var TEXT=new Set([
"lane","group","role","source","kind"]);var TERM=/(-?)(?:([a-z_]+)\s*(>=|<=|!=|=|>|<|:)\s*("[^"]*"?|\S+)?|("[^"]*"?|\S+))/gi;
var HELP=[["load","part of a name"],["load tile","both, in any order"],['"load tile"',"these words together"],["-load","\
all but these"],["payload>=3","a number: = != > >= < <="],["dur=100..200","from, to"],["cta=0 sm= thread= launch= start>\
 end<","more numbers; times in cycles"],["lane:main","part of a text"],["role: group: source: kind:","more texts"]];function parseQuery(text,events){
const tests=[];for(const[whole,minus,key,operator,raw]of text.matchAll(TERM)){const words=whole.slice(minus.length);const field=key===
void 0?void 0:FIELDS[key.toLowerCase()];if(!words.replaceAll('"',""))continue;const test=field?condition(field,operator,
unquoted(raw??""),events):name(unquoted(words),events);if(key!==void 0&&!field&&!events.names.some(contains(words)))throw new Error(
`there is no ${key} to search by: ${Object.keys(FIELDS).filter(each=>each.length>1).join(", ")}`);tests.push(minus?i=>!test(
i):test)}if(!tests.length)return null;return i=>tests.every(test=>test(i))}function unquoted(text){return text.replace(/^"([^"]*)"?$/,
"$1")}function contains(part){const wanted=part.toLowerCase();return text=>text.toLowerCase().includes(wanted)}function name(part,events){
const fits=events.names.map(contains(part));return i=>fits[events.nameCode(i)]}function condition(field,operator,value,events){
if(!value)throw new Error(`${field}${operator} of what? ${TEXT.has(field)?`${field}:word`:example(field)}`);if(TEXT.has(
field)){const read3=textOf(field,events);const fits=contains(value);const has=i=>fits(read3(i));if(operator==="!=")return i=>!has(
i);if(operator===":"||operator==="=")return has;throw new Error(`${field} is text: write ${field}:${value}`)}const read2=numberOf(
field,events);const[low,high]=range(value,field);switch(operator){case">":return i=>read2(i)>high;case">=":return i=>read2(
i)>=low;case"<":return i=>read2(i)<low;case"<=":return i=>read2(i)<=high;case"!=":return i=>!(read2(i)>=low&&read2(i)<=high);default:
return Number.isNaN(low)?i=>Number.isNaN(read2(i)):i=>read2(i)>=low&&read2(i)<=high}}function range(text,field){const parts=text.
split("..");const ends=parts.map(part=>Number(part.replace(/^-?inf$/i,inf=>inf[0]==="-"?"-Infinity":"Infinity")));const wrong=parts.
length>2||parts.some((part,n)=>!part||Number.isNaN(ends[n])&&!/^nan$/i.test(part));if(wrong)throw new Error(`${field} is\
 a number: write ${example(field)}, not ${text}`);return[ends[0],ends[ends.length-1]]}function example(field){return`${field}\
=3, ${field}>3 or ${field}=3..5`}function textOf(field,events){if(field==="source")return i=>events.source(i);if(field===
"kind")return i=>events.isInstant(i)?"instant":"range";if(field==="lane")return i=>events.laneOf(i).name;if(field==="gro\
up")return i=>events.laneOf(i).group;return i=>events.laneOf(i).role}function numberOf(field,events){const origin=Number(
events.origin);switch(field){case"payload":return i=>{const value=events.payloadOf(i);return value===void 0?Number.POSITIVE_INFINITY*
0:Number(value)};case"duration":return i=>events.duration[i];case"start":return i=>origin+events.start[i];case"end":return i=>origin+
events.end(i);case"cta":return i=>events.laneOf(i).cta;case"launch":return i=>events.laneOf(i).launch??1;case"sm":return i=>events.
laneOf(i).sm;default:return i=>events.laneOf(i).thread}}var ARROWS=["all","hovered","none"];var ALIGN=["cta","iteration"];function save(state){const{lanes}=state;return{unit:state.
unit,span:state.span?[state.span[0],state.span[1]]:null,scroll:state.scroll,color_by:state.colorBy,arrows:state.arrows,query:state.
query,filter:state.filter,hidden_names:[...state.hiddenNames],hidden_launches:[...state.hiddenLaunches],ghost:state.ghost,
align:state.align,collapsed:[...lanes.collapsed],hidden:[...lanes.hidden],pinned:[...lanes.pinned],order:Object.fromEntries(
[...lanes.order].map(([key,keys])=>[key,[...keys]]))}}function restore(state,saved,units){const one=(value,of,otherwise)=>of.
includes(value)?value:otherwise;const{lanes}=state;return{unit:one(saved.unit,units,state.unit),span:saved.span===void 0?
state.span:saved.span,scroll:saved.scroll??state.scroll,colorBy:one(saved.color_by,COLOR_BY,state.colorBy),arrows:one(saved.
arrows,ARROWS,state.arrows),query:saved.query??state.query,filter:saved.filter??state.filter,hiddenNames:saved.hidden_names??
state.hiddenNames,hiddenLaunches:saved.hidden_launches??state.hiddenLaunches,ghost:saved.ghost??state.ghost,align:one(saved.
align,ALIGN,state.align),lanes:{collapsed:saved.collapsed?new Set(saved.collapsed):lanes.collapsed,hidden:saved.hidden?new Set(
saved.hidden):lanes.hidden,pinned:saved.pinned??lanes.pinned,order:saved.order?new Map(Object.entries(saved.order)):lanes.
order}}}var MOST_CHIPS=40;var[LEAST_CHARS,MOST_CHARS]=[12,48];var TOOLS=[["select","Select","a drag selects an area (V)"],["pan",
"Move","a drag moves the view (H)"],["measure","Measure","a drag measures (M)"]];var Bar=class{constructor(scene,to,signal){
this.scene=scene;this.to=to;const{header,state}=scene;this.colors=choice("Colour by",COLOR_BY.map(by=>[by,`colour: ${by}`]),
state.colorBy);this.arrows=choice("Arrows",ARROWS.map(each=>[each,`arrows: ${each}`]),state.arrows);this.over=choice("Ov\
er the lanes",[["","over: nothing"],...to.overs.map(each=>[each,each])],"");this.unit=choice("Unit of time",scene.units.
map(unit2=>[unit2,unit2]),state.unit);this.tools=TOOLS.map(([,text,title2])=>button(text,title2));const badge=header.badge;
const lines=button("Lines","lines of the kernel, with their time (O)");const stats=button("Stats","durations of all CTAs\
, time by nesting, the average iteration (I)");const save2=button("Save","copy or save the picture, save the rows");const[
all,help2]=[button("Fit","show everything (0, or double click beside all events)"),button("?","keys and mouse")];const title=h(
"span",{class:"tlt-title",dir:"auto",title:header.title},header.title);const device=header.device?h("span",{class:"tlt-d\
evice"},header.device):null;const counted=h("span",{class:"tlt-count"},count(scene.events.count,"event"));const search=h(
"span",{class:"tlt-group tlt-search"},this.search,this.previous,this.next,this.filter);const arrows=scene.events.flowSrc.
length?this.arrows:null;const unit=scene.units.length>1?this.unit:null;const drags=h("span",{class:"tlt-group",role:"gro\
up","aria-label":"What a drag does"},...this.tools);const folds=scene.roots.length>1||scene.roots.some(node=>node.children.
length);const whole=h("span",{class:"tlt-group"},folds?this.folded:null,all,save2,help2);const panels=h("span",{class:"t\
lt-group",role:"group","aria-label":"Under the lanes"},lines,stats);const worn=badge?h("span",{class:badge.warns?"tlt-ba\
dge tlt-warns":"tlt-badge",title:badge.why},badge.text):null;const there=elements=>elements.filter(each=>each!==null);const over=to.
overs.length?this.over:null;this.spare=there([device,panels,over,counted,arrows,this.colors,drags,unit,this.hidden,this.
found,whole]);this.items=there([header.title?title:null,worn,device,counted,h("span",{class:"tlt-grow"}),search,this.found,
this.hidden,this.colors,arrows,over,unit,drags,panels,whole]);this.more.setAttribute("aria-expanded","false");this.root=
h("div",{class:"tlt-bar",role:"toolbar","aria-label":"Timeline tools"},...this.items,this.more,this.overflow);const on=(element,type,act)=>element.
addEventListener(type,act,{signal});on(this.search,"input",()=>scene.set({query:this.search.value}));on(this.search,"key\
down",event=>this.searchKey(event));on(this.previous,"click",()=>scene.nextMatch(-1));on(this.next,"click",()=>scene.nextMatch(
1));on(this.filter,"click",()=>scene.set({filter:!scene.state.filter}));on(this.colors,"change",()=>scene.set({colorBy:this.
colors.value}));on(this.arrows,"change",()=>scene.set({arrows:this.arrows.value}));on(this.over,"change",()=>to.over(this.
over.value));on(this.unit,"change",()=>scene.set({unit:this.unit.value}));this.tools.forEach((element,n)=>{on(element,"c\
lick",()=>to.use(TOOLS[n][0]))});on(this.folded,"click",()=>scene.fold(scene.state.lanes.collapsed.size===0));on(this.hidden,
"click",()=>scene.arrange({hidden:new Set}));on(all,"click",()=>scene.showAll());on(help2,"click",()=>to.help());on(lines,
"click",()=>to.lines());on(stats,"click",()=>to.aggregate());on(save2,"click",()=>to.save(save2));on(this.more,"click",()=>this.
open(Boolean(this.overflow.hidden)));this.show()}scene;to;root;search=h("input",{type:"search",placeholder:"search  /","\
aria-label":"Search events",title:HELP.map(([typed,finds])=>`${typed}   ${finds}`).join("\n"),spellcheck:"false"});filter=button(
"Filter","hide what does not match");found=h("span",{class:"tlt-found",role:"status"});previous=button("↑","previous m\
atch (Shift N)");next=button("↓","next match (N)");colors;arrows;over;unit;tools;folded=button("Fold","collapse or ope\
n all groups");hidden=button("","show the hidden lanes again");spare;items;more=button("…","more tools");overflow=h("d\
iv",{class:"tlt-more",role:"group","aria-label":"More tools",hidden:true});arranged="";open(wanted){this.overflow.hidden=
!wanted;this.more.setAttribute("aria-expanded",String(wanted))}closeMore(unless=null){if(this.overflow.hidden||this.overflow.
contains(unless)||this.more.contains(unless))return false;this.open(false);return true}fit(){const{root,items,more,overflow,
spare}=this;const texts=[this.found,this.hidden,this.folded].map(each=>each.textContent);const key=[root.clientWidth,this.
search.style.width,...texts].join("|");if(!root.clientWidth||key===this.arranged)return;this.arranged=key;const home=root.
getRootNode();const focused=home.activeElement;for(const item of items)if(item.parentNode!==root)root.insertBefore(item,
this.placeOf(item));more.hidden=true;root.classList.remove("tlt-tight");const fits=()=>root.scrollWidth<=root.clientWidth;
for(const item of spare){if(fits())break;more.hidden=false;overflow.append(item)}root.classList.toggle("tlt-tight",!fits());
if(more.hidden)this.open(false);if(!(focused instanceof HTMLElement)||!root.contains(focused)||focused===home.activeElement)
return;focused.focus({preventScroll:true});if(focused!==home.activeElement)this.to.home()}placeOf(item){const later=this.
items.slice(this.items.indexOf(item)+1);return later.find(each=>each.parentNode===this.root)??this.more}showOver(which){
if(![...this.over.options].some(({value})=>value===which))this.over.append(h("option",{value:which},which));this.over.value=
which}searchKey(event){event.stopPropagation();if(event.key==="Enter")this.scene.nextMatch(event.shiftKey?-1:1);else if(event.
key==="Escape"){this.scene.set({query:""});this.to.home()}else return;event.preventDefault()}show(){const{state,matches}=this.
scene;if(this.search.value!==state.query)this.search.value=state.query;this.search.style.width=`${Math.min(Math.max(state.
query.length,LEAST_CHARS)+4,MOST_CHARS)}ch`;this.search.setAttribute("aria-invalid",String(this.scene.wrong));this.colors.
value=state.colorBy;this.arrows.value=state.arrows;this.unit.value=state.unit;press(this.filter,state.filter);TOOLS.forEach(
([tool],n)=>{press(this.tools[n],tool===this.to.tool())});this.folded.textContent=state.lanes.collapsed.size?"Unfold":"F\
old";const hidden=this.scene.rows.hiddenCount;this.hidden.hidden=hidden===0;this.hidden.textContent=`show ${number(hidden)}\
 hidden`;const at=matches?.indexOf(this.scene.focused)??-1;this.found.textContent=matches?at>=0?`${number(at+1)} of ${number(
matches.length)}`:`${number(matches.length)} found`:"";this.found.hidden=!matches;for(const element of[this.previous,this.
next])element.disabled=!matches?.length;this.fit()}};var Legend=class{constructor(scene,signal){this.scene=scene;const{events}=scene;
this.changes=scene.ghost?differences(scene.ghost.events,events):new Map;this.counts=new Uint32Array(events.names.length);
for(let i=0;i<events.count;i++)this.counts[events.nameCode(i)]++;const order=events.names.map((_,n)=>n).filter(n=>this.counts[n]);
order.sort((a,b)=>this.counts[b]-this.counts[a]||a-b);for(const n of order.slice(0,MOST_CHIPS))this.chips.set(events.names[n],
this.chip(n,signal));this.before.addEventListener("click",()=>scene.set({ghost:!scene.state.ghost}),{signal});this.align.
addEventListener("click",()=>this.alignOther(),{signal});const hint=lightHint(scene.header);this.root.append(this.scales,
...this.chips.values(),...scene.ghost?[this.before,this.align]:[],this.rest,hint&&h("span",{class:"tlt-light",role:"note"},
hint),this.measured);this.show()}scene;root=h("div",{class:"tlt-legend",role:"group","aria-label":"Names: click hides on\
e, Alt click shows it alone"});counts;changes;chips=new Map;scales=h("span");measured=h("span",{class:"tlt-measured",role:"\
status",hidden:true});rest=h("span",{class:"tlt-count"});before=h("button",{type:"button",class:"tlt-before",title:"the \
run before, thin under each lane"},h("span",{class:"tlt-swatch"}),"previous run");align=h("button",{type:"button",class:"\
tlt-align",title:"the previous run begins each iteration where this one does; what it has more of one is cut off"});chip(n,signal){
const name2=this.scene.events.names[n];const swatch=h("span",{class:"tlt-swatch"});swatch.style.background=this.scene.paint.
nameCss(n);const change=this.changes.get(name2);const chip=h("button",{type:"button"},swatch,h("bdi",{},clean(name2,60)),
h("span",{class:"tlt-count"},number(this.counts[n])),change?h("span",{class:"tlt-change",title:"mean duration, against t\
he run before"},change):null);chip.addEventListener("click",event=>this.click(name2,event.altKey),{signal});return chip}click(name2,alone){
const{hiddenNames}=this.scene.state;const others=this.scene.events.names.filter((each,n)=>each!==name2&&this.counts[n]);
if(alone)this.scene.set({hiddenNames:hiddenNames.length===others.length&&!hiddenNames.includes(name2)?[]:others});else if(hiddenNames.
includes(name2))this.scene.set({hiddenNames:hiddenNames.filter(each=>each!==name2)});else this.scene.set({hiddenNames:[...hiddenNames,
name2]})}alignOther(){const{scene}=this;scene.set({align:scene.state.align==="cta"?"iteration":"cta"});if(scene.state.align===
"iteration"&&!scene.ghost?.aligned){scene.set({align:"cta"});scene.say("no name is there twice on a lane of a CTA in bot\
h runs: there are no iterations to bring together")}}measure(text){this.measured.textContent=text;this.measured.hidden=!text}show(){
const{paint,state,events}=this.scene;const swatches=state.colorBy==="name";for(const[name2,chip]of this.chips){press(chip,
!state.hiddenNames.includes(name2));chip.firstChild.hidden=!swatches}press(this.before,state.ghost);press(this.align,state.
align==="iteration");this.align.hidden=!this.scene.beside;this.align.textContent=alignment(this.scene);const rest=events.
names.filter((_,n)=>this.counts[n]).length-this.chips.size;const ramp=paint.scale?[this.ramp(paint.scale.low,paint.scale.
high)]:[];this.scales.replaceChildren(...ramp);this.scales.hidden=!ramp.length;this.rest.textContent=rest>0?`and ${number(
rest)} more names`:"";this.root.hidden=!events.count}ramp(low,high){const bar=h("span",{class:"tlt-ramp"});const steps=this.
scene.paint.colors.slice(0,32);bar.style.background=`linear-gradient(to right, ${steps.map(css).join(",")})`;const{colorBy,
unit}=this.scene.state;const text=value=>colorBy==="duration"?duration(value,unit):short(value,3);const line=h("span",{class:"\
tlt-count"},`${colorBy} ${text(low)}`);const whole=h("span",{},line," ",bar," ",h("span",{class:"tlt-count"},text(high)));
whole.style.cssText="display:inline-flex;align-items:center;gap:5px;padding-right:10px";return whole}};function alignment({
ghost}){const found=ghost?.aligned;if(!found)return"per iteration";const{name:name2,before,now}=found;const change=before>
0?`, ${now>before?"+":"−"}${percent(Math.abs(now/before-1))}`:"";const[was,is]=[before,now].map(cycles=>duration(cycles,
"cycles"));return`per iteration, from ${clean(name2,30)} to the next: ${was} → ${is}${change}`}function button(text,title){
return h("button",{type:"button",title,"aria-label":text.length===1&&title},text)}function press(element,pressed){element.
setAttribute("aria-pressed",String(pressed))}function choice(label,options,value){const select=h("select",{"aria-label":label,
title:label},...options.map(([key,text])=>h("option",{value:key},text)));select.value=value;return select}var MAP_HEIGHT=34;var COLUMNS=600;var SLICE=4e5;var Minimap=class{constructor(canvas,scene,redraw){this.canvas=canvas;this.
scene=scene;this.redraw=redraw;this.context=context2d(canvas)}canvas;scene;redraw;context;still=document.createElement("\
canvas");time=new Float32Array(0);job=0;count(signal,theme){const{events,axis}=this.scene;const job=++this.job;const time2=new Float32Array(
COLUMNS*256);const{from,to}=axis.all;const scale2=COLUMNS/(to-from);let row=0;const go=()=>{if(signal.aborted||job!==this.
job)return;let counted=0;for(;row<events.rowLane.length&&counted<SLICE;row++){const{offset,rate}=axis.line(events.lanes[events.
rowLane[row]]);const end=events.rowStart[row+1];for(let i=events.rowStart[row];i<end;i++){if(events.code[i]!==HIDDEN){const x=(offset+
rate*events.start[i]-from)*scale2;add(time2,events.code[i],x,x+rate*events.duration[i]*scale2)}}counted+=end-events.rowStart[row]}
this.time=time2;this.paint(theme);this.redraw();if(row<events.rowLane.length)setTimeout(go,0)};go()}paint(theme){const{still,
scene,time:time2}=this;still.width=COLUMNS;still.height=MAP_HEIGHT;const context=context2d(still);let most=0;const sums=new Float32Array(
COLUMNS);for(let x=0;x<COLUMNS;x++){for(let code=0;code<256;code++)sums[x]+=time2[x*256+code];most=Math.max(most,sums[x])}
const used=Array.from({length:255},(_,code)=>code).filter(code=>{for(let x=0;x<COLUMNS;x++)if(time2[x*256+code]>0)return true;
return false});for(let x=0;x<COLUMNS;x++){let y=MAP_HEIGHT;for(const code of used){const share=time2[x*256+code];if(share===
0)continue;const high=Math.max(share/most*(MAP_HEIGHT-4),1);const full=scene.paint.colors[code%DIM];context.fillStyle=css(
mix(full,theme.ground,code>=DIM?.8:.1));context.fillRect(x,y-high,1,high);y-=high}}}draw(width,gutter,ratio,theme){const{
context,canvas}=this;const[w,h2,left]=[width,MAP_HEIGHT,gutter].map(value=>Math.round(value*ratio));if(canvas.width!==w||
canvas.height!==h2)[canvas.width,canvas.height]=[w,h2];context.fillStyle=css(theme.ground);context.fillRect(0,0,w,h2);context.
imageSmoothingEnabled=false;if(this.still.width===COLUMNS)context.drawImage(this.still,left,0,w-left,h2);const[from,to]=this.
window(w,left);context.fillStyle=css(theme.ground);context.globalAlpha=.6;context.fillRect(left,0,from-left,h2);context.
fillRect(to,0,w-to,h2);context.globalAlpha=1;context.strokeStyle=theme.accent;context.lineWidth=Math.max(1,ratio);context.
strokeRect(from+.5,.5,Math.max(to-from-1,2),h2-1);context.fillStyle=theme.soft;context.font=`${10.5*ratio}px system-ui, \
sans-serif`;context.textBaseline="middle";context.fillText("overview",8*ratio,h2/2);context.fillStyle=theme.line;context.
fillRect(left-1,0,1,h2)}window(width,left){const{axis,span}=this.scene;const{from,to}=axis.all;const at=time2=>left+Math.
min(Math.max((time2-from)/(to-from),0),1)*(width-left);return[at(span.from),at(span.to)]}listen(gutter,signal){const{canvas,
scene}=this;let grabbed=0;const timeAt2=event=>{const box2=canvas.getBoundingClientRect();const left=gutter()*(box2.width/
canvas.offsetWidth||1);const{from,to}=scene.axis.all;return from+(event.clientX-box2.left-left)/Math.max(box2.width-left,
1)*(to-from)};const move=event=>{const width=scene.span.to-scene.span.from;const from=timeAt2(event)-grabbed;scene.look(
{from,to:from+width})};canvas.addEventListener("pointerdown",event=>{const time2=timeAt2(event);const{from,to}=scene.span;
grabbed=time2>=from&&time2<=to?time2-from:(to-from)/2;canvas.setPointerCapture(event.pointerId);move(event)},{signal});canvas.
addEventListener("pointermove",event=>event.buttons&1&&canvas.hasPointerCapture(event.pointerId)&&move(event),{signal});
canvas.addEventListener("dblclick",()=>scene.showAll(),{signal})}};function add(time2,code,x0,x1){const first=Math.max(Math.
floor(x0),0);const last=Math.min(Math.floor(x1),COLUMNS-1);if(first===last){time2[first*256+code]+=Math.max(x1-x0,1e-4);
return}for(let x=first;x<=last;x++)time2[x*256+code]+=Math.min(x1,x+1)-Math.max(x0,x)}function arrow(context,from,to,ratio){const bend=Math.min(Math.max(Math.abs(to.x-from.x)/2,8*ratio),50*ratio);const head=5*
ratio;context.lineWidth=1.25*ratio;context.beginPath();context.moveTo(from.x,from.y);context.bezierCurveTo(from.x+bend,from.
y,to.x-bend,to.y,to.x-head*.6,to.y);context.stroke();context.beginPath();context.moveTo(to.x,to.y);context.lineTo(to.x-head,
to.y-head*.6);context.lineTo(to.x-head,to.y+head*.6);context.closePath();context.fill()}function hit(events,row,cycle,reach){const from=events.rowStart[row];const to=events.rowStart[row+1];const after=upperBound(
events.start,cycle,from,to);const first=events.firstEndingFrom(row,cycle-reach);const crowded=events.isCrowded(row);let best=-1;
let distance=reach;for(let i=after-1;i>=first;i--){if(events.code[i]===HIDDEN)continue;const away=Math.max(cycle-events.
end(i),0);if(away<distance||away===distance&&best<0)[best,distance]=[i,away];if(!crowded||away===0)break}for(let i=after;i<
to&&events.start[i]-cycle<=distance;i++){if(events.code[i]===HIDDEN)continue;return best>=0&&events.start[i]-cycle===distance?
best:i}return best}function neighbour(events,i,step2){const lane=events.laneOf(i);let best=i;for(let row=lane.row;row<lane.
row+lane.rows;row++){const from=events.rowStart[row];const to=events.rowStart[row+1];const at=events.start[i];let n=step2>
0?lowerBound(events.start,at,from,to):upperBound(events.start,at,from,to)-1;while(n>=from&&n<to&&(events.code[n]===HIDDEN||
!follows(events,i,n,step2)))n+=step2;if(n<from||n>=to)continue;if(best===i||follows(events,n,best,step2))best=n}return best}
function follows(events,a,b,step2){const apart=events.start[b]-events.start[a]||b-a;return apart*step2>0}function nearest({events,axis},lane,time2){const{offset,rate}=axis.line(lane);const cycle=(time2-offset)/rate;let best=-1;
let distance=Number.POSITIVE_INFINITY;for(let row=lane.row;row<lane.row+lane.rows;row++){const near=hit(events,row,cycle,
distance);if(near<0)continue;const away=Math.max(events.start[near]-cycle,cycle-events.end(near),0);if(away<distance)[best,
distance]=[near,away]}return best}function onNextLane(scene,by){const{events,axis,focused}=scene;const lane=events.laneOf(
focused);const strips=scene.rows.strips.filter(strip=>strip.kind==="lane");const time2=(axis.startOf(focused)+axis.endOf(
focused))/2;for(let n=strips.findIndex(strip=>strip.node.lanes[0]===lane)+by;n>=0&&n<strips.length;n+=by){const near=nearest(
scene,strips[n].node.lanes[0],time2);if(near>=0)return near}return-1}function firstInView(scene){const{axis,rows,span,state,
viewHeight}=scene;for(const strip of rows.between(state.scroll,state.scroll+viewHeight)){if(strip.kind==="head")continue;
for(const lane of strip.node.lanes){const near=nearest(scene,lane,span.from);if(near>=0&&axis.endOf(near)>=span.from&&axis.
startOf(near)<=span.to)return near}}return-1}function arrowsFrom(events,i){const{flowSrc,flowDst}=events;const found=[];
const first=lowerBound(flowSrc,i,0,flowSrc.length);for(let n=first;n<flowSrc.length&&flowSrc[n]===i;n++)found.push(flowDst[n]);
return found.filter(dst=>arrowShows(events,i,dst)!=="not")}function arrowsTo(events,i){const{flowSrc,flowDst}=events;const found=[];
for(let n=0;n<flowDst.length;n++)if(flowDst[n]===i)found.push(flowSrc[n]);return found.filter(src=>arrowShows(events,src,
i)!=="not")}function arrowShows({code},src,dst){if(code[src]===HIDDEN||code[dst]===HIDDEN)return"not";return code[src]>=
DIM&&code[dst]>=DIM?"pale":"plain"}var Overlay=class{constructor(canvas,scene){this.scene=scene;this.context=context2d(canvas)}scene;bands=null;remarks=null;context;draw(frame,theme,pointer){
const{context,scene}=this;const{ratio,width,height,gutter}=frame;context.setTransform(1,0,0,1,0,0);context.clearRect(0,0,
width*ratio,height*ratio);const shown=placed(scene,frame);context.save();context.beginPath();context.rect(gutter*ratio,0,
(width-gutter)*ratio,height*ratio);context.clip();if(scene.area)this.area(scene.area.span,scene.area.lanes,frame,theme);
if(scene.measured)this.area(scene.measured,null,frame,theme);if(pointer!==null&&pointer>gutter){context.fillStyle=theme.
soft;context.globalAlpha=.5;context.fillRect(Math.round(pointer*ratio),AXIS*ratio,Math.max(1,Math.round(ratio)),height*ratio);
context.globalAlpha=1}context.beginPath();context.rect(gutter*ratio,AXIS*ratio,(width-gutter)*ratio,(height-AXIS)*ratio);
context.clip();this.bands?.draw(context,shown,frame,theme);this.remarks?.draw(context,shown,frame,theme);if(scene.state.
arrows!=="none"&&scene.events.flowSrc.length)this.arrows(shown,frame,theme);if(scene.hovered>=0)this.outline(scene.hovered,
shown,frame,theme.ink,1.5);if(scene.focused>=0)this.outline(scene.focused,shown,frame,theme.accent,2.5);context.restore();
for(const{strip,y}of stuck(scene))context.clearRect(0,y*ratio,width*ratio,strip.height*ratio);const length=scene.measured??
scene.area?.span;if(length)this.length(length,frame,theme)}area(span,lanes,frame,theme){const{context,scene}=this;const{
ratio,height}=frame;const[from,to]=[span.from,span.to].map(time2=>xOf(time2,scene.span,frame)*ratio);const offset=AXIS+scene.
rows.pinnedHeight-scene.state.scroll;const top=lanes?(offset+lanes[0])*ratio:AXIS*ratio;const bottom=lanes?(offset+lanes[1])*
ratio:height*ratio;context.strokeStyle=theme.accent;context.lineWidth=1.5*ratio;context.strokeRect(from,top,to-from,bottom-
top);context.fillStyle=theme.accent;context.globalAlpha=.2;context.fillRect(from,0,to-from,AXIS*ratio);context.globalAlpha=
1}length({from,to},{gutter,ratio},theme){const{context,scene}=this;context.fillStyle=theme.accent;context.fillRect(0,0,gutter*
ratio-1,(AXIS-1)*ratio);context.font=`600 ${11*ratio}px ${FONT}`;context.fillStyle=theme.dark?"#111111":"#ffffff";context.
textAlign="left";context.textBaseline="middle";context.fillText(duration(to-from,scene.axis.unit),8*ratio,AXIS/2*ratio)}arrows(shown,frame,theme){
const{context,scene}=this;const places=new Places(scene,shown,frame);context.strokeStyle=context.fillStyle=theme.accent;
for(const i of new Set([scene.hovered,scene.focused])){if(i<0)continue;const pairs=[...arrowsFrom(scene.events,i).map(to=>[
i,to]),...arrowsTo(scene.events,i).map(from=>[from,i])];for(const[src,dst]of pairs.slice(0,100)){const[from,to]=[places.
end(src),places.start(dst)];if(from&&to)arrow(context,from,to,frame.ratio)}}}outline(i,shown,frame,color,wide){const{context,
scene}=this;const{ratio}=frame;const row=scene.events.rowOf(i);const lane=scene.events.lanes[scene.events.rowLane[row]];
const[from,to]=[scene.axis.startOf(i),scene.axis.endOf(i)].map(time2=>xOf(time2,scene.span,frame)*ratio);for(const each of shown){
if(each.strip.kind==="head"||!each.strip.node.lanes.includes(lane))continue;const middle=middleOf(each,row)*ratio;const half=(Math.
min(ROW2,each.strip.body)/2-.5)*ratio;context.strokeStyle=color;context.lineWidth=wide*ratio;context.strokeRect(Math.round(
from),middle-half,Math.max(Math.round(to-from),2*ratio),2*half)}}};var GAP2=.04;var NEAR=.25;function sections(events,unit,launches,hidden){const spans=spansOf(events,unit);const shown=launches.
flatMap(facts=>{const span=spans.get(facts.launch);return span&&!hidden.has(facts.launch)?[{facts,...span}]:[]});const most=GAP2*
shown.reduce((sum,{from,to})=>sum+to-from,0);let at=shown.length?shown[0].from:0;return shown.map(({facts,from,to},n)=>{
if(n>0){const before=shown[n-1];const[begin2,end]=[facts.begin_ns,before.facts.begin_ns];const known=unit==="ns"&&begin2!==
null&&end!==null?begin2+from-(end+before.to):most;at+=known>0?Math.min(known,most):most}const section={launch:facts.launch,
from:at,to:at+to-from,zero:at-from};at=section.to;return section})}function spansOf(events,unit){const found=new Map;const origin=Number(
events.origin);for(let row=0;row<events.rowLane.length;row++){const[first,end]=[events.rowStart[row],events.rowStart[row+
1]];const{launch,nsOffset,nsRate}=events.lanes[events.rowLane[row]];if(first===end||launch===null)continue;const[offset,
rate]=unit==="ns"?[nsOffset,nsRate]:[origin,1];const known=found.get(launch);const[from,to]=[offset+rate*events.start[first],
offset+rate*events.lastEnd(row)];found.set(launch,{from:Math.min(known?.from??from,from),to:Math.max(known?.to??to,to)})}
for(const[launch,{from,to}]of found)if(from>0&&from<=NEAR*(to-from))found.set(launch,{from:0,to});return found}function sectionAt(sections2,time2){
return sections2.findLast(each=>each.from<=time2)??sections2[0]}var SAME={offset:0,rate:1};var NEAR2=.25;var LEAST3=8;var FAR=2**40;var Axis=class{constructor(events,unit,beside=null,room=null,launches=[],hidden=new Set){
this.events=events;this.unit=unit;this.sections=sections(events,unit,launches,hidden);const before=unit==="cycles"?Number(
events.origin):0;this.shifts=new Map(this.sections.map(({launch,zero})=>[launch,zero+before]));if(this.sections.length){
this.origin=0n;this.whole={from:this.sections[0].from,to:this.sections[this.sections.length-1].to}}else if(unit==="cycle\
s"){this.origin=events.origin;const offset=beside?Number(beside.origin-events.origin):0;const own=join({from:0,to:events.
cycles},beside&&{from:offset,to:offset+beside.cycles});const origin=Number(events.origin);this.whole=withZero(join(own,room&&
{from:room.from-origin,to:room.to-origin}),-origin)}else{const{from,to}=join(join(extentNs(events),beside&&extentNs(beside)),
room);const base=Math.abs(from)<FAR?0:Math.floor(from);this.origin=BigInt(base);this.whole=withZero({from:from-base,to:to-
base},-base)}}events;unit;whole;origin;sections;shifts;line(lane){const shift=lane.launch===null?0:this.shifts.get(lane.
launch)??0;if(this.unit==="ns")return{offset:lane.nsOffset-Number(this.origin)+shift,rate:lane.nsRate};return shift?{offset:shift,
rate:1}:SAME}lineOf(other,lane){return this.unit==="cycles"?{offset:Number(other.origin-this.origin),rate:1}:this.line(lane)}startOf(i){
const{offset,rate}=this.line(this.events.laneOf(i));return offset+rate*this.events.start[i]}endOf(i){const{offset,rate}=this.
line(this.events.laneOf(i));return offset+rate*this.events.end(i)}get all(){const{from,to}=this.whole;const room=Math.max(
(to-from)*.01,.5);return{from:from-room,to:to+room}}fit(span){const all=this.all;const most=(all.to-all.from)*1.2;const width=Math.
min(Math.max(span.to-span.from,Math.min(LEAST3,most)),most);const middle=(span.from+span.to)/2;let from=width===span.to-
span.from?span.from:middle-width/2;from=Math.min(Math.max(from,all.from-width*.8),all.to-width*.2);return{from,to:from+width}}zoom(span,factor,share){
const width=span.to-span.from;const most=(this.all.to-this.all.from)*1.2;const next=Math.min(Math.max(width*factor,Math.
min(LEAST3,most)),most);const from=span.from+share*(width-next);return this.fit({from,to:from+next})}ticks(span,step2){if(!this.
sections.length)return ticks(span,step2,this.origin);return this.sections.flatMap(({from,to,zero})=>{const[low,high]=[Math.
max(from,span.from),Math.min(to,span.to)];return low<high?ticks({from:low-zero,to:high-zero},step2,0n).map(time2=>time2+
zero):[]})}label(time2,step2){const value=this.sections.length?time2-sectionAt(this.sections,time2).zero:time2;if(this.unit===
"cycles")return number(this.origin+BigInt(Math.round(value)));const{size,unit}=UNITS.find(each=>step2>=each.size)??UNITS[2];
const digits=Math.max(0,Math.min(3,Math.ceil(-Math.log10(step2/size)-1e-9)));return`${number((Number(this.origin)+value)/
size,digits)} ${unit}`}};function join(a,b){return b?{from:Math.min(a.from,b.from),to:Math.max(a.to,b.to)}:a}function withZero({
from,to},zero){return zero<from&&from-zero<=NEAR2*(to-from)?{from:zero,to}:{from,to}}function extentNs(events){let from=Number.
POSITIVE_INFINITY;let to=Number.NEGATIVE_INFINITY;for(let row=0;row<events.rowLane.length;row++){const first=events.rowStart[row];
const end=events.rowStart[row+1];if(first===end)continue;const{nsOffset,nsRate}=events.lanes[events.rowLane[row]];from=Math.
min(from,nsOffset+nsRate*events.start[first]);to=Math.max(to,nsOffset+nsRate*events.lastEnd(row))}return from<=to?{from,
to}:{from:0,to:1}}function tickStep(span,most,whole){const rough=(span.to-span.from)/Math.max(most,1);const size=10**Math.
floor(Math.log10(rough));const step2=[1,2,5,10].map(n=>n*size).find(n=>n>=rough)??10*size;return whole?Math.max(1,Math.round(
step2)):step2}function ticks(span,step2,origin){const shift=Number(origin%BigInt(Math.max(1,Math.round(step2))));const found=[];
const first=Math.ceil((span.from+shift)/step2);const last=Math.floor((span.to+shift)/step2);for(let n=0;n<=last-first;n++)
found.push((first+n)*step2-shift);return found}var MEASURED=2e4;var NAME_CHARS=120;var Texts=class{constructor(events){this.events=events;this.float=events.payload instanceof
Float64Array}events;names=[];float;name(i){const code=this.events.nameCode(i);this.names[code]??=clean(this.events.names[code],
NAME_CHARS);return this.names[code]}payload(i){return payloadText(this.begin(i),this.end(i))}begin(i){return payloadValue(
this.events.payloadOf(i),this.float)}end(i){return payloadValue(this.events.payloadEndOf(i),this.float)}};var Ruler=class{constructor(context){
this.context=context}context;fonts=new Map;known=new Map;use(font){this.known=this.fonts.get(font)??new Map;this.fonts.set(
font,this.known);this.context.font=font}width(text){let width=this.known.get(text);if(width===void 0){if(this.known.size>
MEASURED)this.known.clear();width=this.context.measureText(text).width;this.known.set(text,width)}return width}elide(text,room){
if(this.width(text)<=room)return text;const letters=Array.from(text);let low=0;let high=letters.length-1;while(low<high){
const middle=low+high+1>>>1;if(this.context.measureText(`${letters.slice(0,middle).join("")}…`).width<=room)low=middle;else
high=middle-1}return low>0?`${letters.slice(0,low).join("")}…`:""}};function fitted(name2,payload,room,gap,ruler){if(!payload){
const text2=ruler.elide(name2,room);return text2?{name:text2,payload:"",at:0}:null}const own=ruler.width(payload);if(own>
room){const text2=ruler.elide(name2,room);return text2&&text2.length>2?{name:text2,payload:"",at:0}:null}const text=ruler.
elide(name2,room-own-gap);if(text.length>2||text===name2)return{name:text,payload,at:ruler.width(text)+gap};return{name:"",
payload,at:0}}var MOST_LABELS=1500;var Collected=class{constructor(least,events){this.least=least;this.events=events}least;events;bars=[];points=[];left=0;top=0;height=0;summary=false;row=0;scale=1;at(left,top,height,summary,row,scale2){
[this.left,this.top,this.height,this.summary,this.row,this.scale]=[left,top,height,summary,row,scale2]}bar(i,from,to){if(!this.
summary&&this.bars.length<MOST_LABELS)this.bars.push(this.noted(i,from,to))}point(i,at){if(!this.summary&&this.points.length<
MOST_LABELS)this.points.push(this.noted(i,at,at+1))}noted(i,from,to){const{events,left,top,height}=this;const last=i+1>=
events.rowStart[this.row+1];const room=last?Number.POSITIVE_INFINITY:(events.start[i+1]-events.start[i])*this.scale;return{
i,from:from+left,to:to+left,top,height,room}}};var GHOSTLY=.5;var PALE=.15;var MOST_ARROWS=1200;var LETTERS=11;var Picture=class{constructor(canvas,scene,texts){this.scene=
scene;this.texts=texts;this.context=context2d(canvas);this.lineContext=context2d(this.lines);this.ruler=new Ruler(this.context)}scene;texts;context;lines=document.
createElement("canvas");lineContext;image=null;ruler;looked=0;draw(frame,theme){const{context,scene}=this;const{ratio}=frame;
const px=value=>Math.round(value*ratio);const[width,height,left,top]=[frame.width,frame.height,frame.gutter,AXIS].map(px);
const shown=placed(scene,frame);const split=AXIS+scene.rows.pinnedHeight;const pinned=scene.rows.pinned.length;context.setTransform(
1,0,0,1,0,0);context.fillStyle=css(theme.ground);context.fillRect(0,0,width,height);this.looked=0;const parts=[{strips:shown.
slice(pinned),from:split,to:frame.height,notes:this.collected(ratio)},{strips:shown.slice(0,pinned),from:AXIS,to:split,notes:this.
collected(ratio)}].filter(({strips})=>strips.length);for(const part of parts)this.part(part,frame,theme);const arrows=scene.
state.arrows==="all"&&scene.events.flowSrc.length>0;if(arrows){context.save();clip(context,left,top,width-left,height-top);
this.arrows(shown,frame,theme);context.restore()}for(const{from,to,notes:notes2}of parts){context.save();clip(context,left,
px(from),width-left,px(to)-px(from));this.labels(notes2,theme,frame,arrows);context.restore()}if(pinned){context.fillStyle=
theme.soft;context.fillRect(0,px(split)-1,width,Math.max(1,px(1)))}const heads=stuck(scene);this.bands(heads,theme,frame);
this.names(heads,frame,theme);this.axis(frame,theme);if(!scene.events.count)this.nothing(frame,theme)}part({strips:shown,
from,to,notes:notes2},frame,theme){const{context}=this;const{ratio}=frame;const[top,bottom,left,width]=[from,to,frame.gutter,
frame.width].map(value=>Math.round(value*ratio));context.save();clip(context,0,top,width,bottom-top);this.bands(shown,theme,
frame);this.grid(frame,theme);this.names(shown,frame,theme);clip(context,left,top,width-left,bottom-top);this.bars(shown,
frame,notes2);this.ghosts(shown,frame);this.torn(notes2,theme,ratio);this.points(notes2,theme,ratio);context.restore()}collected(ratio){
return new Collected(Math.round(13*ratio),this.scene.events)}bands(shown,theme,{width,ratio}){const{context}=this;for(const{
strip,y}of shown){const[top,bottom]=[Math.round(y*ratio),Math.round((y+strip.height)*ratio)];if(strip.body<LABEL)continue;
if(strip.kind!=="lane"){context.fillStyle=theme.head;context.fillRect(0,top,Math.round(width*ratio),bottom-top)}context.
fillStyle=theme.line;context.fillRect(0,bottom-1,Math.round(width*ratio),1)}}grid(frame,theme){const{context}=this;context.
fillStyle=theme.band;for(const x of this.tickPlaces(frame).map(([,x2])=>x2))context.fillRect(x,Math.round(AXIS*frame.ratio),
Math.max(1,Math.round(frame.ratio)),frame.height*frame.ratio);context.fillStyle=theme.soft;for(const{from}of this.scene.
axis.sections.slice(1))context.fillRect(Math.round(xOf(from,this.scene.span,frame)*frame.ratio),0,1,frame.height*frame.ratio)}bars(shown,frame,notes2){
const{context,scene}=this;const{ratio}=frame;const left=Math.round(frame.gutter*ratio);const width=Math.round(frame.width*
ratio)-left;if(width<=0)return;const bars=[];for(const{strip,y}of shown){if(strip.kind==="head")continue;const lanes=strip.
node.lanes;const count2=strip.kind==="summary"?1:lanes[0].rows;for(let n=0;n<count2;n++){const room=strip.body<LABEL?0:3;
const top=strip.kind==="summary"?y+room:y+GAP/2+n*ROW2+1;const bottom=strip.kind==="summary"?y+strip.body-1-room:top+ROW2-
2;const rows=strip.kind==="summary"?this.folded(lanes):[lanes[0].row+n];bars.push({top:Math.round(top*ratio),height:Math.
round(bottom*ratio)-Math.round(top*ratio),rows})}}if(!bars.length)return;const pixels=this.pixels(width,bars.length);bars.
forEach(({top,height,rows},n)=>{const line=pixels.subarray(n*width,(n+1)*width);for(const row of rows){const{offset,rate}=scene.
axis.line(scene.events.lanes[scene.events.rowLane[row]]);const scale2=width*rate/(scene.span.to-scene.span.from);const cycle=(scene.
span.from-offset)/rate;notes2.at(left,top,height,rows.length>1,row,scale2);this.looked+=scene.raster.paint(line,row,{cycle,
scale:scale2,width},scene.paint.inks,notes2)}});this.lineContext.putImageData(this.image,0,0,0,0,width,bars.length);context.
imageSmoothingEnabled=false;bars.forEach(({top,height},n)=>{context.drawImage(this.lines,0,n,width,1,left,top,width,height)})}folded(lanes){
const{busy}=this.scene.events;const rows=lanes.flatMap(({row,rows:rows2})=>Array.from({length:rows2},(_,r)=>row+r));return rows.
sort((a,b)=>busy[b]-busy[a]||a-b)}ghosts(shown,frame){const{context,scene}=this;const ghost=scene.beside;const strips=shown.
filter(({strip})=>strip.kind!=="head");const{ratio}=frame;const left=Math.round(frame.gutter*ratio);const width=Math.round(
frame.width*ratio)-left;if(!ghost||width<=0||!strips.length)return;const scale2=width/(scene.span.to-scene.span.from);const pixels=this.
pixels(width,strips.length);strips.forEach(({strip},n)=>{const line=pixels.subarray(n*width,(n+1)*width);for(const lane of strip.
node.lanes)ghost.paint(line,lane,scene.axis,scene.span.from,scale2)});this.lineContext.putImageData(this.image,0,0,0,0,width,
strips.length);context.imageSmoothingEnabled=false;context.globalAlpha=GHOSTLY;strips.forEach(({strip,y},n)=>{const[top,
bottom]=[y+strip.height-UNDER,y+strip.height-2].map(value=>Math.round(value*ratio));context.drawImage(this.lines,0,n,width,
1,left,top,width,bottom-top)});context.globalAlpha=1}pixels(width,height){const{image,lines}=this;if(!image||image.width!==
width||image.height<height){lines.width=width;lines.height=Math.max(height,64);this.image=this.lineContext.createImageData(
width,lines.height)}const pixels=new Uint32Array(this.image.data.buffer);pixels.fill(0,0,width*height);return pixels}torn(notes2,theme,ratio){
const{context,scene}=this;const step2=4*ratio;context.fillStyle=css(theme.ground);context.beginPath();for(const{i,to,from,
top,height}of notes2.bars){if(!scene.events.isTruncated(i))continue;const depth=Math.min(step2,(to-from)/2);context.moveTo(
to+1,top);for(let y=0,n=0;y<=height+step2;y+=step2/1.5,n++)context.lineTo(to-(n%2?depth:0),top+Math.min(y,height));context.
lineTo(to+1,top+height);context.closePath()}context.fill()}points(notes2,theme,ratio){const{context,scene}=this;for(const{
i,from,top,height,room}of notes2.points){const size=Math.min(Math.max(room,2*ratio),4.5*ratio);const[x,y]=[from+.5,top+height/
2];context.fillStyle=css(scene.paint.colorOf(i));context.strokeStyle=theme.ink;context.lineWidth=ratio*.75;context.beginPath();
if(scene.events.isInstant(i)){context.moveTo(x,y-size);context.lineTo(x+size,y);context.lineTo(x,y+size);context.lineTo(
x-size,y);context.closePath()}else context.rect(x-ratio,top,2*ratio,height);context.fill();context.stroke()}}labels(notes2,theme,{
ratio,gutter,width},grounded){const{context,scene,texts,ruler}=this;const[pad,gap]=[4*ratio,5*ratio];const[left,right]=[
gutter*ratio,width*ratio];ruler.use(`${LETTERS*ratio}px ${FONT}`);context.textAlign="left";context.textBaseline="middle";
let style="";const write=(i,from,room,y,color,ground="")=>{const words=fitted(texts.name(i),texts.payload(i),room,gap,ruler);
if(!words)return;if(ground){const wide=words.payload?words.at+ruler.width(words.payload):ruler.width(words.name);context.
fillStyle=style=ground;context.fillRect(from-ratio,y-LETTERS/2*ratio,wide+2*ratio,LETTERS*ratio)}if(style!==color)context.
fillStyle=style=color;if(words.name)context.fillText(words.name,from,y);if(words.payload){context.fillText(words.payload,
from+words.at,y);if(words.name)context.fillRect(from+words.at-gap/2-ratio/4,y-4*ratio,ratio/2,8*ratio)}};const tall=LETTERS*
ratio;for(const{i,from,to,top,height}of notes2.bars){if(height<tall)continue;const inset=to-from<6*pad?pad/2:pad;const begin2=Math.
max(from,left)+inset;const room=Math.min(to,right)-begin2-inset+ratio;if(room<7*ratio)continue;const ground=grounded?scene.
paint.barOf(i,theme):"";write(i,begin2,room,top+height/2+ratio/2,scene.paint.textOn(i,theme),ground)}for(const{i,from,top,
height,room}of notes2.points){if(height<tall)continue;const begin2=from+8*ratio;const limit=Math.min(from+room-2*ratio,right);
if(limit-begin2>10*ratio)write(i,begin2,limit-begin2,top+height/2+ratio/2,theme.ink)}}arrows(shown,frame,theme){const{scene}=this;
const{flowSrc,flowDst}=scene.events;const place=new Places(scene,shown,frame);let drawn=0;this.context.strokeStyle=this.
context.fillStyle=theme.soft;for(const{strip}of shown){if(strip.kind==="head")continue;for(const lane of strip.node.lanes){
const[first,end]=[lane.row,lane.row+lane.rows].map(row=>scene.events.rowStart[row]);for(let n=lowerBound(flowSrc,first,0,
flowSrc.length);n<flowSrc.length&&flowSrc[n]<end;n++){const from=place.end(flowSrc[n]);const to=place.start(flowDst[n]);
if(!from||!to||Math.max(from.x,to.x)<0||Math.min(from.x,to.x)>frame.width*frame.ratio)continue;const shows=arrowShows(scene.
events,flowSrc[n],flowDst[n]);if(shows==="not")continue;if(drawn++>MOST_ARROWS)break;this.context.globalAlpha=shows==="p\
ale"?PALE:1;arrow(this.context,from,to,frame.ratio)}}}this.context.globalAlpha=1}names(shown,frame,theme){const{context,
ruler}=this;const{ratio,gutter,height}=frame;const[left,top]=[gutter,AXIS].map(value=>Math.round(value*ratio));context.save();
clip(context,0,top,left,height*ratio-top);context.textAlign="left";context.textBaseline="middle";let free=0;for(const[n,
{strip,y}]of shown.entries()){const dense=strip.body<LABEL;const cramped=shown.slice(n,n+LABEL).some(next=>next.strip.body>=
LABEL&&next.y<y+LABEL);if(dense&&(y<free||cramped))continue;free=y+LABEL;const indent=8+Math.min(strip.depth,4)*12;const half=strip.
kind==="lane"?(GAP+ROW2)/2:(dense?LABEL:strip.body)/2;const middle=Math.round((y+half)*ratio);const leaf=strip.kind==="l\
ane";ruler.use(`${leaf?"":"600 "}${11*ratio}px ${FONT}`);context.fillStyle=leaf?theme.soft:theme.ink;if(!leaf)triangle(context,
(indent+3)*ratio,middle,3.5*ratio,strip.kind==="head");const begin2=(indent+(leaf?0:12))*ratio;const text=ruler.elide(strip.
label,left-begin2-8*ratio);context.fillText(text,begin2,middle+ratio/2)}context.restore();context.fillStyle=theme.line;context.
fillRect(left-1,0,1,height*ratio)}axis(frame,theme){const{context,scene,ruler}=this;const{ratio}=frame;const[left,top,width]=[
frame.gutter,AXIS,frame.width].map(value=>Math.round(value*ratio));context.fillStyle=css(theme.ground);context.fillRect(
0,0,width,top);ruler.use(`${10.5*ratio}px ${FONT}`);context.textAlign="left";context.textBaseline="middle";const step2=this.
step(frame);const ticks2=this.tickPlaces(frame);ticks2.forEach(([time2,x],n)=>{context.fillStyle=theme.soft;context.fillRect(
x,top-5*ratio,Math.max(1,Math.round(ratio)),5*ratio);const text=scene.axis.label(time2,step2);const next=ticks2[n+1]?.[1]??
width;if(x+ruler.width(text)+6*ratio<=next)context.fillText(text,x+4*ratio,top/2)});context.fillStyle=theme.soft;const unit=scene.
axis.unit==="ns"?`ns since ${this.first} CTA`:"cycles since CTA entry";context.fillText(ruler.elide(unit,left-16*ratio),
8*ratio,top/2);context.fillStyle=theme.line;context.fillRect(0,top-1,width,1)}get first(){return this.scene.axis.sections.
length>1?"each launch's first":"the first"}nothing(frame,theme){const{context,ruler}=this;ruler.use(`${13*frame.ratio}px\
 ${FONT}`);context.fillStyle=theme.soft;context.textAlign="center";context.fillText("no events",(frame.width+frame.gutter)/
2*frame.ratio,frame.height/2*frame.ratio)}step(frame){const whole=this.scene.axis.unit==="cycles";return tickStep(this.scene.
span,Math.max((frame.width-frame.gutter)/110,1),whole)}tickPlaces(frame){const{axis,span}=this.scene;return axis.ticks(span,
this.step(frame)).map(time2=>[time2,Math.round(xOf(time2,span,frame)*frame.ratio)])}};function clip(context,x,y,width,height){
context.beginPath();context.rect(x,y,width,height);context.clip()}function triangle(context,x,y,size,open){context.beginPath();
if(open){context.moveTo(x-size,y-size/2);context.lineTo(x+size,y-size/2);context.lineTo(x,y+size)}else{context.moveTo(x-
size/2,y-size);context.lineTo(x-size/2,y+size);context.lineTo(x+size,y)}context.closePath();context.fill()}var LIGHT={ink:"#1b1f24",soft:"#5b6470",line:"#dfe3e8",accent:"#0b5cad",warn:"#b93c06"};var DARK={ink:"#e6e9ed",soft:"#9\
aa4af",line:"#343b44",accent:"#6cb6ff",warn:"#ff8a5b"};function themeOf(root){const ground=parse(getComputedStyle(root).
backgroundColor);const dark=luminance(ground)<.35;const words=dark?DARK:LIGHT;const toward=parse(words.ink);return{dark,
ground,band:css(mix(ground,toward,.035)),head:css(mix(ground,toward,.075)),...words}}function onThemeChange(changed,signal){
const observer=new MutationObserver(changed);const options={attributes:true,attributeFilter:["class","style","data-theme",
"data-jp-theme-light","data-jp-theme-name"]};for(const element of[document.documentElement,document.body])observer.observe(
element,options);signal.addEventListener("abort",()=>observer.disconnect());matchMedia("(prefers-color-scheme: dark)").addEventListener(
"change",changed,{signal})}function inside({events,axis,rows},{span,lanes}){const found=[];const take=row=>{const{offset,rate}=axis.line(events.lanes[events.
rowLane[row]]);for(const i of eventsBetween(events,row,(span.from-offset)/rate,(span.to-offset)/rate))found.push(i)};for(const strip of lanes?
rows.between(lanes[0],lanes[1]):rows.strips){if(strip.kind==="head")continue;for(const lane of strip.node.lanes)for(let row=lane.
row;row<lane.row+lane.rows;row++)if(strip.kind==="summary"||!lanes||touches(strip,row-lane.row,lanes))take(row)}return Uint32Array.
from(found).sort()}function touches(strip,row,[from,to]){const top=strip.top+GAP/2+row*ROW2;return top<to&&top+ROW2>from}var Marks=class{constructor(events,header){this.events=events;this.paint=new Paint(events,header.palette,header.name_color);
this.levels=new Levels(events);this.raster=new Raster(events,this.levels)}events;paint;levels;raster;selected=null;matches=null;filter=false;search({
query,filter,hiddenNames,hiddenLaunches},axis){const{events,paint}=this;const away=new Set(hiddenLaunches);const hidden=new Set(
hiddenNames.map(name2=>events.names.indexOf(name2)));let test=null;let wrong=null;try{test=parseQuery(query,events)}catch(error){
wrong=error.message}const found=[];for(let row=0;row<events.rowLane.length;row++){const{launch}=events.lanes[events.rowLane[row]];
const gone=launch!==null&&away.has(launch);for(let i=events.rowStart[row];i<events.rowStart[row+1];i++){const fits=test?.(
i)??false;const out=gone||hidden.has(events.nameCode(i))||filter&&test!==null&&!fits;paint.marks[i]=paint.marks[i]&SELECTED|
(out?FILTERED:0)|(fits?MATCHED:0);if(fits&&!out)found.push(i)}}this.matches=test?byStart(found,i=>axis.startOf(i)):null;
this.filter=filter;this.recode();return wrong}select(positions){this.selected=positions;const{marks}=this.paint;for(let i=0;i<
marks.length;i++)marks[i]&=~SELECTED;if(positions)for(const i of positions)marks[i]|=SELECTED;this.recode()}colorBy(by,axis){
this.paint.colorBy(by,axis);this.recode()}recode(){const searching=this.matches!==null&&!this.filter;this.paint.code(searching?
MATCHED:this.selected?SELECTED:0);this.levels.clear()}};function byStart(positions,start){const times=Float64Array.from(
positions,start);const order=Uint32Array.from(positions,(_,n)=>n).sort((a,b)=>times[a]-times[b]||a-b);return order.map(n=>positions[n])}var Scene=class{constructor(events,header,saved,ghost=null){this.events=events;this.header=header;this.ghost=ghost;this.
marks=new Marks(events,header);({paint:this.paint,levels:this.levels,raster:this.raster}=this.marks);this.roots=tree(events.
lanes);this.units=header.ns?["cycles","ns"]:["cycles"];const severalCtas=events.lanes.some(lane=>lane.cta!==events.lanes[0].
cta||lane.rank!==events.lanes[0].rank);const hiddenLaunches=hiddenAtFirst(header.launches);const shown=this.roots.filter(
root=>!hiddenLaunches.includes(root.lanes[0].launch??0));const plain2={unit:header.ns&&severalCtas?"ns":"cycles",span:null,
scroll:0,colorBy:"name",arrows:events.flowSrc.length<=200?"all":"hovered",query:"",filter:false,hiddenNames:[],hiddenLaunches,
ghost:true,align:"cta",lanes:{...PLAIN,collapsed:new Set(foldedAtFirst(shown,events.count))}};this.state=restore(plain2,
saved,this.units);ghost?.follow(this.state,events);this.axis=this.newAxis();this.span=this.spanOf(this.state);this.rows=
this.newRows();this.marks.colorBy(this.state.colorBy,this.axis);this.search()}events;header;ghost;marks;paint;levels;raster;roots;units;state;axis;span;rows;viewHeight=300;hovered=-1;focused=-1;area=null;measured=null;message="";wrong=false;listeners=new Map;get selected(){
return this.marks.selected}get matches(){return this.marks.matches}get beside(){const{ghost,state}=this;return ghost&&state.
ghost&&ghost.has(state.unit)?ghost:null}newAxis(){const{unit}=this.state;const room=this.header.room?.[unit];const hidden=new Set(
this.state.hiddenLaunches);const span=room?{from:room[0],to:room[1]}:null;return new Axis(this.events,unit,this.beside?.
shown,span,this.header.launches,hidden)}newRows(){const{hiddenLaunches,lanes}=this.state;const roots=this.roots.filter(root=>!hiddenLaunches.
includes(root.lanes[0].launch??0));return new Rows(roots,lanes,this.beside?UNDER:0)}on(change,listener){const known=this.
listeners.get(change);if(known)known.add(listener);else this.listeners.set(change,new Set([listener]))}tell(...changes){
for(const change of changes)for(const listener of this.listeners.get(change)??[])listener()}say(message){this.message=message;
this.tell("message")}spanOf(state){if(!state.span)return this.axis.all;const origin=Number(this.axis.origin);return this.
axis.fit({from:state.span[0]-origin,to:state.span[1]-origin})}look(span){this.span=this.axis.fit(span);const origin=Number(
this.axis.origin);this.state={...this.state,span:[this.span.from+origin,this.span.to+origin]};this.tell("frame","moved")}zoom(factor,share=.5){
this.look(this.axis.zoom(this.span,factor,share))}pan(share){const by=(this.span.to-this.span.from)*share;this.look({from:this.
span.from+by,to:this.span.to+by})}showAll(){this.span=this.axis.all;this.state={...this.state,span:null};this.tell("fram\
e","moved")}showSelection(){const chosen=this.focused>=0?[this.focused]:this.selected??[];if(this.area)this.look(withRoom(
this.area.span));else if(chosen.length){this.look(withRoom(this.spanOfEvents(chosen)));this.bring(this.events.laneOf(chosen[0]))}else
this.showAll()}spanOfEvents(positions){let from=Number.POSITIVE_INFINITY;let to=Number.NEGATIVE_INFINITY;for(const i of positions){
from=Math.min(from,this.axis.startOf(i));to=Math.max(to,this.axis.endOf(i))}return{from,to}}scrollTo(top){const most=Math.
max(this.rows.height-this.viewHeight,0);const scroll=Math.round(Math.min(Math.max(top,0),most));if(scroll===this.state.scroll)
return;this.state={...this.state,scroll};this.tell("frame","moved")}arrange(lanes){this.state={...this.state,lanes:{...this.
state.lanes,...lanes}};this.rows=this.newRows();this.area=null;this.scrollTo(this.state.scroll);this.tell("frame","state")}toggle(list,key){
const now=this.state.lanes[list];const next=[...now].filter(each=>each!==key);if(next.length===[...now].length)next.push(
key);this.arrange({[list]:list==="pinned"?next:new Set(next)})}fold(closed){const keys=closed?this.roots.map(node=>node.
key):[];this.arrange({collapsed:new Set(keys)})}move(key,by){const{parent,keys}=siblings(this.roots,key,this.state.lanes);
const at=keys.indexOf(key);const to=at+by;if(at<0||to<0||to>=keys.length)return;[keys[at],keys[to]]=[keys[to],keys[at]];
this.arrange({order:new Map(this.state.lanes.order).set(parent,keys)})}reveal(lane){const above=ancestors(this.roots,lane);
const{collapsed,hidden,pinned}=this.state.lanes;if(above.some(key=>pinned.includes(key)))return;if(above.some(key=>collapsed.
has(key)||hidden.has(key)))this.arrange({collapsed:new Set([...collapsed].filter(key=>!above.includes(key))),hidden:new Set(
[...hidden].filter(key=>!above.includes(key)))});this.bring(lane)}bring(lane){const strip=this.rows.showing(lane);if(!strip)
return;const under=strip.top-strip.depth*HEAD;if(under<this.state.scroll)this.scrollTo(under);else if(strip.top+strip.height>
this.state.scroll+this.viewHeight)this.scrollTo(strip.top+strip.height-this.viewHeight)}hover(i){if(i===this.hovered)return;
this.hovered=i;this.tell("hover")}focus(i,follow=true){this.focused=i;if(i>=0&&follow){this.reveal(this.events.laneOf(i));
const[from,to]=[this.axis.startOf(i),this.axis.endOf(i)];const width=this.span.to-this.span.from;const outside=from>=this.
span.to||to<=this.span.from;const cut=from<this.span.from||to>this.span.to;if(outside||cut&&to-from<width){const middle=(from+
to)/2;this.look({from:middle-width/2,to:middle+width/2})}}this.tell("focus")}step(by){this.focus(this.focused>=0?neighbour(
this.events,this.focused,by):this.first)}get first(){return this.selected?.find(i=>this.events.code[i]!==HIDDEN)??firstInView(
this)}stepLane(by){const next=this.focused>=0?onNextLane(this,by):this.first;if(next>=0)this.focus(next)}jump(direction){
const next=direction>0?arrowsFrom(this.events,this.focused):arrowsTo(this.events,this.focused);if(next.length)this.focus(
next[0]);else this.say(this.focused<0?"focus an event first":`no arrow ${direction>0?"leaves":"reaches"} this event`)}brush(area,done){
this.area=area;if(done)this.select(area?inside(this,area):null);this.tell("hover")}select(positions){this.marks.select(positions);
this.tell("codes");this.tell("selection","frame")}clearSelection(){this.area=null;this.measured=null;if(this.selected)this.
select(null);this.focus(-1);this.tell("hover")}set(change){const before=this.state;this.state={...before,...change};const moved3=this.
state.unit!==before.unit||this.state.hiddenLaunches!==before.hiddenLaunches;if(moved3){this.state={...this.state,span:null};
this.area=this.measured=null}this.ghost?.follow(this.state,this.events);if(moved3||this.state.ghost!==before.ghost||this.
state.align!==before.align){this.axis=this.newAxis();this.span=this.spanOf(this.state);this.rows=this.newRows()}if(this.
state.colorBy!==before.colorBy||this.state.unit!==before.unit){this.marks.colorBy(this.state.colorBy,this.axis);this.tell(
"codes")}const{query,filter,hiddenNames,hiddenLaunches}=this.state;const same=query===before.query&&filter===before.filter&&
hiddenNames===before.hiddenNames;if(!same||hiddenLaunches!==before.hiddenLaunches)this.search();this.scrollTo(this.state.
scroll);this.tell("frame","state")}nextArrows(){this.set({arrows:ARROWS[(ARROWS.indexOf(this.state.arrows)+1)%ARROWS.length]})}nextMatch(by){
const{matches}=this;if(!matches?.length)return;const at=this.focused<0?-1:matches.indexOf(this.focused);const next=at<0?
by>0?0:matches.length-1:(at+by+matches.length)%matches.length;this.focus(matches[next])}search(){const{events}=this;const wrong=this.
marks.search(this.state,this.axis);this.message=wrong??"";this.wrong=wrong!==null;this.tell("codes","message");const gone=i=>i>=
0&&events.code[i]===HIDDEN;if(gone(this.hovered))this.hover(-1);if(gone(this.focused))this.focus(-1)}recall(state,selected){
this.restore(save(state));this.area=null;if(selected!==this.selected)this.select(selected)}restore(saved){const next=restore(
this.state,saved,this.units);const{unit,colorBy,arrows,query,filter,hiddenNames,hiddenLaunches,ghost,align}=next;this.set(
{unit,colorBy,arrows,query,filter,hiddenNames,hiddenLaunches,ghost,align});this.arrange(next.lanes);this.state={...this.
state,span:next.span};this.span=this.spanOf(this.state);this.scrollTo(next.scroll);this.tell("frame")}};function hiddenAtFirst(launches){
const last=new Map(launches.map(({group,launch})=>[group,launch]));return launches.filter(({group,launch})=>last.get(group)!==
launch).map(({launch})=>launch)}function withRoom({from,to}){const room=Math.max((to-from)*.05,.5);return{from:from-room,
to:to+room}}function ancestors(roots,lane){const keys=[];let nodes=roots;for(;;){const node=nodes.find(each=>each.lanes.
includes(lane));if(!node)return keys;keys.push(node.key);nodes=node.children}}var LASTS_MS=320;var MOST_EVENTS=4e4;var Transition=class _Transition{constructor(to,ghost,from,theme){this.to=to;this.from=
from;const{events}=to;this.fromStart=new Float64Array(events.count);this.fromDuration=new Float64Array(events.count);this.
place(ghost);const moving=events.at(this.fromStart.slice(),this.fromDuration.slice());this.scene=new Scene(moving,to.header,
save(to.state),ghost);this.scene.paint.ink(theme)}to;from;scene;fromStart;fromDuration;began=performance.now();static of(to,before,theme){
const{ghost}=to;const moves=!matchMedia("(prefers-reduced-motion: reduce)").matches&&to.events.count<=MOST_EVENTS;if(!moves||
!ghost||!to.events.count||before.state.unit!==to.state.unit)return null;const shift=Number(before.axis.origin-to.axis.origin);
return new _Transition(to,ghost,{from:before.span.from+shift,to:before.span.to+shift},theme)}place(ghost){const{events,axis}=this.
to;const old=ghost.events;for(const lane of events.lanes){const was=ghost.laneOf(lane);const line=axis.line(lane);const oldLine=was?
axis.lineOf(old,was):line;const rate=oldLine.rate/line.rate;const shift=(oldLine.offset-line.offset)/line.rate;for(let r=0;r<
lane.rows;r++){const[first,end]=[events.rowStart[lane.row+r],events.rowStart[lane.row+r+1]];const known=was&&r<was.rows;
const[oldFirst,oldEnd]=known?[old.rowStart[was.row+r],old.rowStart[was.row+r+1]]:[0,0];let last=known&&oldEnd>oldFirst?Number.
NEGATIVE_INFINITY:events.start[first];for(let i=first;i<end;i++){const j=oldFirst+i-first;if(j<oldEnd){this.fromStart[i]=
shift+rate*old.start[j];this.fromDuration[i]=rate*old.duration[j];last=Math.max(last,this.fromStart[i]+this.fromDuration[i])}else
this.fromStart[i]=last}}}}step(now){const share=Math.min((now-this.began)/LASTS_MS,1);if(share>=1)return false;const way=1-
(1-share)**3;const{scene,to,fromStart,fromDuration,from}=this;const{start,duration:duration2}=scene.events;for(let i=0;i<
start.length;i++){start[i]=fromStart[i]+(to.events.start[i]-fromStart[i])*way;duration2[i]=fromDuration[i]+(to.events.duration[i]-
fromDuration[i])*way}scene.events.retimed();scene.levels.clear();scene.state=to.state;scene.rows=to.rows;scene.viewHeight=
to.viewHeight;scene.span={from:from.from+(to.span.from-from.from)*way,to:from.to+(to.span.to-from.to)*way};return true}};var LEAST_GUTTER=108;var MOST_GUTTER=230;var SCROLLBAR=14;var Drawing=class{constructor(root,stage,scene,texts,tip,signal){
this.root=root;this.stage=stage;this.scene=scene;this.texts=texts;this.tip=tip;this.signal=signal;stage.prepend(this.base,
this.over,this.scroll);stage.before(this.map);this.theme=themeOf(root);this.picture=new Picture(this.base,scene,texts);this.
overlay=new Overlay(this.over,scene);this.minimap=new Minimap(this.map,scene,()=>this.ask());this.minimap.listen(()=>this.
frame.gutter,signal);scene.on("frame",()=>this.redraw());scene.on("codes",()=>this.ink());for(const type of["pointerdown",
"keydown","wheel"])root.addEventListener(type,()=>this.arrive(),{signal,passive:true,capture:true});const scrolled=()=>{
if(Math.abs(this.scroll.scrollTop-this.barAt)>1)scene.scrollTo(this.scroll.scrollTop)};this.scroll.addEventListener("scr\
oll",scrolled,{signal,passive:true});onThemeChange(()=>this.retheme(),signal);const seen=new IntersectionObserver(entries=>entries.
some(entry=>entry.isIntersecting)&&this.redraw());seen.observe(stage);signal.addEventListener("abort",()=>{seen.disconnect();
cancelAnimationFrame(this.asked)});this.retheme()}root;stage;scene;texts;tip;signal;map=h("canvas",{class:"tlt-map","ari\
a-hidden":"true"});base=h("canvas",{"aria-hidden":"true"});over=h("canvas",{"aria-hidden":"true"});spacer=h("div");scroll=h(
"div",{class:"tlt-scroll","aria-hidden":"true",tabindex:"-1"},this.spacer);overlay;spent={frame:0,overlay:0,looked:0};frame={
width:0,height:0,gutter:0,ratio:1};theme;picture;minimap;at=null;asked=0;barAt=0;stale={frame:true,map:true};moving=null;moveFrom(before){
const transition=Transition.of(this.scene,before,this.theme);if(transition)this.moving={transition,picture:new Picture(this.
base,transition.scene,this.texts)}}arrive(){if(!this.moving)return;this.moving=null;this.redraw()}retheme(){this.theme=themeOf(
this.root);const{style}=this.root;for(const key of["ink","soft","line","accent","warn","head"])style.setProperty(`--tlt-${key}`,
this.theme[key]);style.colorScheme=this.theme.dark?"dark":"light";this.ink();this.redraw()}ink(){this.scene.paint.ink(this.
theme);this.scene.ghost?.ink(this.theme);this.stale.map=true}redraw(){this.stale.frame=true;this.ask()}ask(){if(this.asked||
this.signal.aborted)return;this.asked=requestAnimationFrame(()=>{this.asked=0;this.draw()})}pointed(x,y){this.at=x===null?
null:{x,y};this.ask()}draw(){const{clientWidth,clientHeight}=this.stage;if(clientWidth===0||clientHeight===0)return;const began=performance.
now();if(this.stale.frame)this.drawFrame(clientWidth,clientHeight);const drawn=performance.now();this.overlay.draw(this.
frame,this.theme,this.at?.x??null);this.tip.show(this.at,this.frame);const done=performance.now();if(this.stale.frame)Object.
assign(this.spent,{frame:done-began,looked:this.picture.looked});this.spent.overlay=done-drawn;this.stale.frame=false;if(this.
moving)this.redraw()}drawFrame(clientWidth,height){const{scene}=this;const ratio=(window.devicePixelRatio||1)*this.scale;
const body=Math.max(height-AXIS-scene.rows.pinnedHeight,0);const scrolls=scene.rows.height>body;const width=clientWidth-
(scrolls?SCROLLBAR:0);const gutter=Math.round(Math.min(Math.max(width*.2,LEAST_GUTTER),MOST_GUTTER));this.frame={width,height,
gutter,ratio};scene.viewHeight=body;scene.scrollTo(scene.state.scroll);this.scroll.hidden=!scrolls;if(scrolls){this.scroll.
style.top=`${AXIS+scene.rows.pinnedHeight}px`;this.spacer.style.height=`${scene.rows.height}px`;if(Math.abs(this.scroll.
scrollTop-scene.state.scroll)>1)this.scroll.scrollTop=scene.state.scroll;this.barAt=this.scroll.scrollTop}for(const canvas of[
this.base,this.over]){const[w,h2]=[Math.round(width*ratio),Math.round(height*ratio)];if(canvas.width===w&&canvas.height===
h2)continue;[canvas.width,canvas.height]=[w,h2];canvas.style.width=`${width}px`;canvas.style.height=`${height}px`}if(this.
stale.map){this.stale.map=false;this.minimap.count(this.signal,this.theme)}if(this.moving&&!this.moving.transition.step(
performance.now()))this.moving=null;(this.moving?.picture??this.picture).draw(this.frame,this.theme);this.minimap.draw(clientWidth,
gutter,ratio,this.theme);this.root.dataset.drawn=""}get scale(){const{stage}=this;return stage.offsetWidth?stage.getBoundingClientRect().
width/stage.offsetWidth:1}};var MOST_ROWS3=2e5;var[LINE,PAD,SWATCH]=[22,10,11];var COLUMNS2=["name","kind","launch","cta","thread","lane","sm","star\
t","duration","payload","source"];function pictureOf(layers,scene,frame,theme){const{ratio,width,height}=frame;const canvas=document.
createElement("canvas");const context=context2d(canvas);context.font=`${12}px ${FONT}`;const names=legend(scene,width-2*
PAD,text=>context.measureText(text).width);const rows=names.length?names[names.length-1].row+1:0;canvas.width=Math.round(
width*ratio);canvas.height=Math.round((LINE+8+height+rows*LINE+6)*ratio);context.scale(ratio,ratio);context.fillStyle=css(
theme.ground);context.fillRect(0,0,width,canvas.height);context.textBaseline="middle";context.fillStyle=theme.ink;context.
font=`600 13px ${FONT}`;const{title,device,badge}=scene.header;context.fillText([title,device,badge?.text].filter(Boolean).
join(" · "),PAD,(LINE+8)/2,width-2*PAD);for(const layer of layers)context.drawImage(layer,0,LINE+8,width,height);context.
font=`12px ${FONT}`;for(const{n,x,row}of names){const y=LINE+8+height+3+(row+.5)*LINE;context.fillStyle=scene.paint.nameCss(
n);context.fillRect(PAD+x,y-SWATCH/2,SWATCH,SWATCH);context.fillStyle=theme.ink;context.fillText(scene.events.names[n],PAD+
x+SWATCH+5,y)}return canvas}function legend(scene,width,wide){if(scene.state.colorBy!=="name")return[];const{events,state}=scene;
const there=new Set;for(let i=0;i<events.count;i++)there.add(events.nameCode(i));let[x,row]=[0,0];return[...there].filter(
n=>!state.hiddenNames.includes(events.names[n])).sort((a,b)=>a-b).map(n=>{const own=SWATCH+5+wide(events.names[n])+16;if(x>
0&&x+own>width)[x,row]=[0,row+1];const place={n,x,row};x+=own;return place})}function taken({events,selected}){const visible=()=>Array.
from({length:events.count},(_,i)=>i).filter(i=>events.code[i]!==HIDDEN);const all=[...selected??visible()].sort((a,b)=>events.
id[a]-events.id[b]);const note=all.length>MOST_ROWS3?`the first ${number(MOST_ROWS3)} of ${number(all.length)} events we\
re saved`:"";return{positions:all.slice(0,MOST_ROWS3),note}}function rowsOf({events},texts,positions){const lines=positions.
map(i=>{const lane=events.laneOf(i);return[texts.name(i),events.isInstant(i)?"instant":"range",lane.launch??1,lane.cta,lane.
thread,lane.name,lane.sm,String(events.origin+BigInt(events.start[i])),events.duration[i],events.payloadOf(i)??"",events.
source(i)].map(cell).join(",")});return[COLUMNS2.join(","),...lines,""].join("\n")}function cell(value){const text=String(
value);return/[",\n]/.test(text)?`"${text.replaceAll('"','""')}"`:text}function download(content,name2){const link=document.
createElement("a");link.href=URL.createObjectURL(content);link.download=name2.replace(/[^\w.-]+/g,"_");link.click();setTimeout(
()=>URL.revokeObjectURL(link.href),1e4)}async function asPng(canvas){return new Promise((resolve,reject)=>{canvas.toBlob(
blob=>blob?resolve(blob):reject(new Error("this picture is too large")),"image/png")})}function keepFocus(root,stage,scroll,signal){let byHand=false;root.addEventListener("pointerdown",()=>byHand=true,{signal,
capture:true});root.addEventListener("keydown",()=>byHand=false,{signal,capture:true});window.addEventListener("keydown",
event=>letSave(root,event),{signal,capture:true});for(const type of["click","change"])root.addEventListener(type,({target})=>{
const focused=focusedIn(root);const elsewhere=focused===null||!root.contains(focused);const done=focused===target.closest(
type==="click"?"button":"select");const plain2=focused===root&&getSelection()?.isCollapsed!==false;if(byHand&&(elsewhere||
done||plain2||focused===scroll))stage.focus({preventScroll:true})},{signal})}function letSave(root,event){if(!(event.ctrlKey||
event.metaKey)||event.key.toLowerCase()!=="s")return;if(!event.composedPath().includes(root))return;const marked=[root,...root.
querySelectorAll(`[${SUPPRESS}]`)];for(const element of marked)element.removeAttribute(SUPPRESS);setTimeout(()=>{for(const element of marked)
element.setAttribute(SUPPRESS,"true")})}function focusedIn(root){return root.getRootNode().activeElement}function isSpare({
target,key}){const button2=target.closest("button");return button2!==null&&!button2.closest("[role=menu], [role=dialog]")&&
!["Enter"," ","Tab"].includes(key)}function aligned(before,now){const anchor=usualAnchor(now);const name2=now.names[anchor];const theirs=before.names.indexOf(
name2);if(anchor<0||theirs<0)return null;const byCta=new Map;const[old,own]=[beginsOf(before,theirs),beginsOf(now,anchor)];
for(const[key,begins]of old)if(own.has(key))byCta.set(key,{before:begins,now:own.get(key)});if(!byCta.size)return null;const lines=new Map(
now.lanes.map(lane=>[keyOf2(lane),lane]));const start=new Float64Array(before.count);const duration2=new Float64Array(before.
count);const origin=[before,now].map(events2=>Number(events2.origin));let cycles=now.cycles;for(const lane of before.lanes){
const begins=byCta.get(keyOf2(lane));for(let i=before.rowStart[lane.row];i<before.rowStart[lane.row+lane.rows];i++){const[
from,to]=[before.start[i]+origin[0],before.end(i)+origin[0]];const[left,right]=begins?moved2(begins,from,to):[from,to];start[i]=
left-origin[1];duration2[i]=right-left;cycles=Math.max(cycles,right-origin[1])}}const lanes=before.lanes.map(lane=>{const{
nsOffset,nsRate}=lines.get(keyOf2(lane))??lane;return{...lane,nsOffset,nsRate}});const events=before.at(start,duration2,
{origin:now.origin,cycles,lanes});const period=all=>quantile(Float64Array.from([...all].flatMap(each=>gaps(each))).sort(),
.5);const both=[...byCta.values()];return{events,name:name2,before:period(both.map(each=>each.before)),now:period(both.map(
each=>each.now))}}function moved2({before,now},from,to){const last=Math.min(before.length,now.length)-1;const put=(time2,k2)=>{
const begin2=k2<0?0:now[k2];return Math.min(begin2+time2-(k2<0?0:before[k2]),k2<last?now[k2+1]:Number.POSITIVE_INFINITY)};
const iteration=time2=>Math.min(upperBound(before,time2,0,before.length)-1,last);const k=iteration(from);const within=k>=
last||to<=before[k+1];return[put(from,k),put(to,within?k:iteration(to))]}function beginsOf(events,name2){const found=new Map;
for(const lane of events.lanes){if(found.has(keyOf2(lane)))continue;const starts=[];for(let i=events.rowStart[lane.row];i<
events.rowStart[lane.row+lane.rows];i++)if(events.nameCode(i)===name2)starts.push(events.start[i]+Number(events.origin));
if(starts.length>1)found.set(keyOf2(lane),Float64Array.from(starts).sort())}return found}function gaps(begins){return Array.
from(begins.subarray(1),(begin2,k)=>begin2-begins[k])}function keyOf2({rank,cta}){return`${rank}|${cta}`}var NO_NOTES={least:Number.POSITIVE_INFINITY,bar(){},point(){}};var PLAIN2={unit:"cycles",align:"cta",colorBy:"name",query:"",
filter:false,hiddenNames:[],hiddenLaunches:[]};var Ghost=class{constructor(events,header,looks){this.events=events;this.
header=header;this.marks=new Marks(events,header);this.byKey=lanesOf2(events);this.follow({...PLAIN2,...looks,align:"cta"},
null)}events;header;marks;byKey;looks=null;theme=null;iterations;get shown(){return this.marks.events}get aligned(){return this.
iterations&&this.shown===this.iterations.events?this.iterations:null}has(unit){return unit==="cycles"||this.header.ns}laneOf(lane){
return this.byKey.get(keyOf3(lane))}follow(looks,now){if(now&&this.iterations===void 0&&looks.align==="iteration")this.iterations=
aligned(this.events,now);const events=looks.align==="iteration"?this.iterations?.events??this.events:this.events;if(events!==
this.shown){this.marks=new Marks(events,this.header);this.byKey=lanesOf2(events);this.looks=null}const{unit,align,colorBy,
query,filter,hiddenNames}=looks;const before=this.looks;this.looks={unit,align,colorBy,query,filter,hiddenNames,hiddenLaunches:[]};
const axis=new Axis(events,this.has(unit)?unit:"cycles");if(unit!==before?.unit||colorBy!==before.colorBy)this.marks.colorBy(
colorBy,axis);if(query!==before?.query||filter!==before.filter||hiddenNames!==before.hiddenNames)this.marks.search(this.
looks,axis);if(!before&&this.theme)this.ink(this.theme)}ink(theme){this.theme=theme;this.marks.paint.ink(theme)}paint(line,lane,axis,from,pixelsPerUnit){
const mine=this.laneOf(lane);if(!mine)return;const{offset,rate}=axis.lineOf(this.shown,mine);const view={cycle:(from-offset)/
rate,scale:pixelsPerUnit*rate,width:line.length};const{raster,paint}=this.marks;for(let row=mine.row;row<mine.row+mine.rows;row++)
raster.paint(line,row,view,paint.inks,NO_NOTES)}};function lanesOf2(events){return new Map(events.lanes.map(lane=>[keyOf3(
lane),lane]))}function keyOf3(lane){return`${lane.rank}|${lane.cta}|${lane.thread}|${lane.name}`}var PAGE=.8;var AGAIN="Shift Backspace";function laneKey(scene){if(scene.focused<0){scene.say("focus an event first");return""}
const lane=scene.events.laneOf(scene.focused);const strips=[...scene.rows.pinned,...scene.rows.strips];return strips.find(
strip=>strip.kind!=="head"&&strip.node.lanes.includes(lane))?.node.key??""}var onLane=act=>scene=>{const key=laneKey(scene);
if(key)act(scene,key)};var BINDINGS=[{keys:["w","W","+","="],shown:"W",does:"zoom in",run:scene=>scene.zoom(.7)},{keys:[
"s","S","-"],shown:"S",does:"zoom out",run:scene=>scene.zoom(1/.7)},{keys:["a","A"],shown:"A",does:"move left",run:scene=>scene.
pan(-.15)},{keys:["d","D"],shown:"D",does:"move right",run:scene=>scene.pan(.15)},{keys:["f","F"],shown:"F",does:"fit th\
e selection",run:scene=>scene.showSelection()},{keys:["0"],shown:"0",does:"fit everything",run:scene=>scene.showAll()},{
keys:[".","ArrowRight"],shown:". →",does:"next event on the lane",run:scene=>scene.step(1)},{keys:[",","ArrowLeft"],shown:"\
, ←",does:"previous event on the lane",run:scene=>scene.step(-1)},{keys:["ArrowDown"],shown:"↓",does:"lane below",run:scene=>scene.
stepLane(1)},{keys:["ArrowUp"],shown:"↑",does:"lane above",run:scene=>scene.stepLane(-1)},{keys:["PageDown"],shown:"Pa\
ge ↓",does:"lanes further down",run:scene=>scene.scrollTo(scene.state.scroll+PAGE*scene.viewHeight)},{keys:["PageUp"],
shown:"Page ↑",does:"lanes further up",run:scene=>scene.scrollTo(scene.state.scroll-PAGE*scene.viewHeight)},{keys:["]"],
shown:"]",does:"along an arrow",run:scene=>scene.jump(1)},{keys:["["],shown:"[",does:"back along an arrow",run:scene=>scene.
jump(-1)},{keys:["e","E"],shown:"E",does:"arrows: all, of the hovered event, none",run:scene=>scene.nextArrows()},{keys:[
"/"],shown:"/",does:"search",run:(_,desk)=>desk.search()},{keys:["n"],shown:"N",does:"next match",run:scene=>scene.nextMatch(
1)},{keys:["N"],shown:"Shift N",does:"previous match",run:scene=>scene.nextMatch(-1)},{keys:["v","V"],shown:"V",does:"dr\
ag selects",run:(_,desk)=>desk.use("select")},{keys:["h","H"],shown:"H",does:"drag moves",run:(_,desk)=>desk.use("pan")},
{keys:["m","M"],shown:"M",does:"drag measures",run:(_,desk)=>desk.use("measure")},{keys:["c","C"],shown:"C",does:"colour\
 by name, payload, duration, lane",run:(_,desk)=>desk.nextColor()},{keys:["u","U"],shown:"U",does:"cycles or ns",run:scene=>scene.
set({unit:scene.units[(scene.units.indexOf(scene.state.unit)+1)%scene.units.length]})},{keys:["p","P"],shown:"P",does:"p\
in the lane",run:onLane((scene,key)=>scene.toggle("pinned",key))},{keys:["x","X"],shown:"X",does:"hide the lane",run:onLane(
(scene,key)=>scene.toggle("hidden",key))},{keys:["{"],shown:"{",does:"move the lane up",run:onLane((scene,key)=>scene.move(
key,-1))},{keys:["}"],shown:"}",does:"move the lane down",run:onLane((scene,key)=>scene.move(key,1))},{keys:["Backspace"],
shown:"Backspace",does:"undo (also Ctrl Z)",run:(_,desk)=>desk.go(-1)},{keys:[AGAIN],shown:"Shift Backspace",does:"redo \
(also Ctrl Shift Z)",run:(_,desk)=>desk.go(1)},{keys:["b","B"],shown:"B",does:"a note on the event, or on what is measur\
ed",run:(_,desk)=>desk.remark()},{keys:["i","I"],shown:"I",does:"durations of all CTAs, time by nesting, the average ite\
ration",run:(_,desk)=>desk.aggregate()},{keys:["o","O"],shown:"O",does:"lines of the kernel, with their time",run:(_,desk)=>desk.
lines()},{keys:["l","L"],shown:"L",does:"large, for a talk; and back",run:(_,desk)=>desk.present()},{keys:["y","Y"],shown:"\
Y",does:"copy as text",run:(_,desk)=>desk.copy()},{keys:["?"],shown:"?",does:"this help",run:(_,desk)=>desk.help()},{keys:[
"Escape"],shown:"Esc",does:"clear the selection, then leave the view",run:(_,desk)=>desk.leave()}];var MOUSE=[["drag","s\
elect an area (or move, or measure)"],["drag on the time axis","select that time on all lanes"],["Shift drag","move"],["\
Ctrl wheel","zoom; plain wheel too, once the view was clicked"],["Shift wheel","move"],["wheel on the labels","scroll th\
e lanes, once the view was clicked"],["double click","fit the event, or beside all events everything"],["right click on \
a label","pin, hide, collapse, reorder"],["two fingers","zoom and move"]];function press2(event,scene,desk){const something=scene.
focused>=0||scene.selected!==null;if((event.ctrlKey||event.metaKey)&&event.key.toLowerCase()==="c"&&something){desk.copy();
return true}if((event.ctrlKey||event.metaKey)&&["z","y"].includes(event.key.toLowerCase())){desk.go(event.shiftKey||event.
key.toLowerCase()==="y"?1:-1);return true}if(event.ctrlKey||event.metaKey||event.altKey)return false;const key=event.key===
"Backspace"&&event.shiftKey?AGAIN:event.key;const binding=BINDINGS.find(({keys})=>keys.includes(key));binding?.run(scene,
desk,event.key);return binding!==void 0}function help(close){const shut=h("button",{type:"button"},"Close");shut.addEventListener("click",close,{once:true});const line=(keys,does)=>h(
"div",{},h("span",{},...keys.split(" ").flatMap(key=>[h("kbd",{},key)," "])),h("span",{},does));const code=typed=>h("spa\
n",{},...typed.split(/ (?=\w+[>:<=])/).flatMap(each=>[h("kbd",{},each)," "]));const plain2=(what,does)=>h("div",{},h("sp\
an",{},what),h("span",{},does));return h("div",{class:"tlt-help",role:"dialog","aria-label":"Keys and mouse",tabindex:"-\
1"},h("b",{},"Keys, while the lanes have the focus "),shut,h("div",{class:"tlt-keys"},...BINDINGS.map(({shown,does})=>line(
shown,does))),h("b",{},"Mouse and fingers"),h("div",{class:"tlt-keys"},...MOUSE.map(([what,does])=>plain2(what,does))),h(
"b",{},"Search"),h("div",{class:"tlt-keys"},...HELP.map(([typed,finds])=>h("div",{},code(typed),h("span",{},finds)))))}var MOST=200;var PAUSE_MS={moved:700,query:3e3,other:0};var History=class{constructor(scene){this.scene=scene;this.moments=
[this.now];for(const change of["moved","state","selection"])scene.on(change,()=>this.note())}scene;moments;at=0;last={kind:"\
other",time:0};recalling=false;get now(){return{state:this.scene.state,selected:this.scene.selected}}note(){if(this.recalling)
return;const{now,moments}=this;const kind=difference(moments[this.at],now);if(kind===null)return;const time2=performance.
now();const goesOn=kind===this.last.kind&&time2-this.last.time<PAUSE_MS[kind]&&this.at>0;this.last={kind,time:time2};if(!goesOn)
this.at++;moments.splice(this.at,Number.POSITIVE_INFINITY,now);if(moments.length>MOST)moments.shift();this.at=moments.length-
1}go(by){const next=this.moments[this.at+by];if(!next){this.scene.say(by<0?"nothing to undo":"nothing to redo");return}this.
at+=by;this.last={kind:"other",time:0};this.recalling=true;this.scene.recall(next.state,next.selected);this.recalling=false;
this.moments[this.at]=this.now}};function difference(a,b){const keys=Object.keys(a.state).filter(key=>a.state[key]!==b.state[key]);
if(!keys.length&&a.selected===b.selected)return null;if(a.selected!==b.selected)return"other";if(keys.every(key=>key==="\
span"||key==="scroll"))return"moved";return keys.every(key=>key==="query")?"query":"other"}var Launches=class{constructor(scene,signal){this.scene=scene;const{launches}=scene.header;const groups=new Map;for(const facts of launches)
groups.set(facts.group,[...groups.get(facts.group)??[],facts]);for(const members of groups.values()){const[{kernel,of}]=members;
const times=of>1?h("span",{class:"tlt-count"},`× ${number(of)}`):"";const chips=members.map(facts=>this.chip(facts,of>1,
signal));this.root.append(h("span",{},h("bdi",{},clean(kernel,40)),times,...chips))}this.root.hidden=launches.length<2;this.
show()}scene;root=h("div",{class:"tlt-launches",role:"group","aria-label":"Launches: click shows or hides one, Alt click\
 shows it alone"});chips=new Map;chip({launch,why,begin_ns:begin2},several,signal){const began=begin2===null?"":`; it be\
gan ${duration(begin2,"ns")} after the first`;const title=`launch ${launch}${began}`;const chip=h("button",{type:"button",
title},several?why:`launch ${launch}`);chip.addEventListener("click",event=>this.click(launch,event.altKey),{signal});this.
chips.set(launch,chip);return chip}click(launch,alone){const{state}=this.scene;const others=[...this.chips.keys()].filter(
each=>each!==launch);const hidden=state.hiddenLaunches.filter(each=>each!==launch);if(alone)this.scene.set({hiddenLaunches:others});else if(hidden.
length<state.hiddenLaunches.length)this.scene.set({hiddenLaunches:hidden});else if(hidden.length===others.length)this.scene.
say("one launch at least is shown");else this.scene.set({hiddenLaunches:[...hidden,launch]})}show(){for(const[launch,chip]of this.
chips)chip.setAttribute("aria-pressed",String(!this.scene.state.hiddenLaunches.includes(launch)))}};var CELL=/^In \[(\d+)\]:(\d+)$/;var PATIENCE_MS=1500;var MARKED_MS=4e3;function sourceButton(near,text,source,code,say){
const notebook=near.closest(".jp-Notebook");if(!notebook||!text||!CELL.test(source))return text;const button2=h("button",
{type:"button",class:"tlt-source",title:"go to this line of the cell"},text);button2.addEventListener("click",async()=>say(
await goTo(notebook,source,code)));return button2}async function goTo(notebook,source,code){const[,number2,line]=CELL.exec(
source);const cells=[...notebook.querySelectorAll(".jp-CodeCell")].filter(cell2=>cell2.querySelector(".jp-InputPrompt")?.
textContent?.trim()===`[${number2}]:`);if(!cells.length)return`there is no cell In [${number2}] now, or it is not loaded\
: scroll through the notebook`;cells[0].scrollIntoView({block:"center"});const until=performance.now()+PATIENCE_MS;for(;;){
const found=cells.map(cell2=>lineOf(cell2,Number(line),code)).find(each=>each);if(found){found.scrollIntoView({block:"ce\
nter"});found.animate([{background:"#f0a500aa"},{background:"transparent"}],MARKED_MS);return""}if(performance.now()>until)
return`cell In [${number2}] has changed since: line ${line} was ${clean(code,80)}`;await new Promise(done=>setTimeout(done,
50))}}function lineOf(cell2,line,code){const lines=[...cell2.querySelectorAll(".cm-line")];if(!code)return lines[line-1];
const same=lines.filter(each=>each.textContent?.trim().startsWith(code));return same.find(each=>lines.indexOf(each)===line-
1)??same[0]}var Lines=class{constructor(scene){this.scene=scene}scene;root=h("div",{class:"tlt-lines",role:"region","aria-label":"Li\
nes of the kernel",hidden:true});rows=new Map;toggle(){this.root.hidden=!this.root.hidden;this.show()}show(){if(this.root.
hidden)return;const{scene}=this;const lines=linesOf(scene);const most=Math.max(...lines.map(({time:time2})=>time2),1e-9);
const all=lines.reduce((sum,{time:time2})=>sum+time2,0);const body=h("tbody");this.rows=new Map(lines.map(line=>[line.source,
this.row(line,most,all)]));body.append(...this.rows.values());const heads=["line","code","events",`time, ${scene.axis.unit}`,
"share"];const head=h("thead",{},h("tr",{},...heads.map(text=>h("th",{scope:"col"},text))));this.root.replaceChildren(lines.
length?h("table",{"aria-label":"Time per line"},head,body):"no event says on which line it is");this.mark()}row({source,
events,time:time2},most,all){const{scene}=this;const text=scene.events.sources[source];const code=scene.header.code[text]??
"";const bar=h("span",{class:"tlt-line-bar"});bar.style.width=`${100*time2/most}%`;const name2=h("button",{type:"button",
title:"select its events"},clean(text,60));name2.addEventListener("click",()=>scene.select(positionsOf(scene,source)));return h(
"tr",{},h("td",{},name2),h("td",{},h("code",{},sourceButton(this.root,code,text,code,words=>scene.say(words)))),h("td",{},
number(events)),h("td",{class:"tlt-line-time"},bar,h("span",{},duration(time2,scene.axis.unit))),h("td",{},all>0?percent(
time2/all):"–"))}mark(){if(this.root.hidden)return;const{events,focused,selected}=this.scene;const meant=focused>=0?[focused]:
selected??[];const sources=new Set;for(const i of meant)sources.add(events.siteSource[events.site[i]]);for(const[source,
row]of this.rows)row.classList.toggle("tlt-on",sources.has(source))}};function linesOf({events,axis}){const times=new Float64Array(
events.sources.length);const counts=new Uint32Array(events.sources.length);for(let row=0;row<events.rowLane.length;row++){
const{rate}=axis.line(events.lanes[events.rowLane[row]]);for(let i=events.rowStart[row];i<events.rowStart[row+1];i++){if(events.
code[i]===HIDDEN)continue;const source=events.siteSource[events.site[i]];counts[source]++;times[source]+=rate*events.duration[i]}}
const place=text=>{const at=text.lastIndexOf(":");return[text.slice(0,at),Number(text.slice(at+1))]};return Array.from(counts,
(_,source)=>source).filter(source=>counts[source]&&events.sources[source]).map(source=>({source,events:counts[source],time:times[source]})).
sort((a,b)=>{const[[file,line],[other,until]]=[a,b].map(({source})=>place(events.sources[source]));return file.localeCompare(
other)||line-until})}function positionsOf({events},source){const found=[];for(let i=0;i<events.count;i++)if(events.code[i]!==
HIDDEN&&events.siteSource[events.site[i]]===source)found.push(i);return Uint32Array.from(found)}function snapped(scene,rows,time2,reach){let best=time2;let distance=reach;for(const row of rows){const{offset,rate}=scene.
axis.line(scene.events.lanes[scene.events.rowLane[row]]);const found=hit(scene.events,row,(time2-offset)/rate,reach/rate);
if(found<0)continue;for(const edge of[scene.axis.startOf(found),scene.axis.endOf(found)])if(Math.abs(edge-time2)<distance)
[best,distance]=[edge,Math.abs(edge-time2)]}return best}function measuredText(scene,{from,to,lane}){const{axis,header}=scene;
const ends=[from,to].map(time2=>axis.label(time2,1)).join(" → ");const length=to-from;if(!lane||!header.ns)return`${ends}\
 · ${duration(length,axis.unit)}`;const cycles=axis.unit==="ns"?length/lane.nsRate:length;const ns=axis.unit==="ns"?length:
length*lane.nsRate;return`${ends} · ${count(Math.round(cycles),"cycle")} · ${duration(ns,"ns")}`}var Menu=class{constructor(stage,scene,home){this.stage=stage;this.scene=scene;this.home=home}stage;scene;home;root=null;open(strip,x,y){
this.show(this.entries(strip),x,y)}show(entries,x,y){this.close();const items=entries.map(([text,act])=>{const item=h("b\
utton",{type:"button",role:"menuitem"},text);item.addEventListener("click",()=>{this.close();this.home();act()});return item});
const root=h("div",{class:"tlt-menu",role:"menu"},...items);root.style.left=`${Math.max(Math.min(x,this.stage.clientWidth-
190),0)}px`;root.style.top=`${Math.max(Math.min(y,this.stage.clientHeight-items.length*25-10),0)}px`;root.addEventListener(
"keydown",event=>{event.stopPropagation();if(event.key!=="Escape")return;this.close();this.home()});this.root=root;this.
stage.append(root);items[0].focus()}entries({node}){const{scene}=this;const{key}=node;const{pinned,collapsed}=scene.state.
lanes;const entries=[[pinned.includes(key)?"Unpin":"Pin to the top",()=>scene.toggle("pinned",key)],["Hide",()=>scene.toggle(
"hidden",key)],["Move up",()=>scene.move(key,-1)],["Move down",()=>scene.move(key,1)]];entries.push([collapsed.has(key)?
"Open":"Collapse",()=>scene.toggle("collapsed",key)]);if(scene.rows.hiddenCount)entries.push([`Show the ${scene.rows.hiddenCount}\
 hidden`,()=>scene.arrange({hidden:new Set})]);return entries}holds(target){return this.root?.contains(target)??false}close(){
this.root?.remove();this.root=null}};var MOST_NAMES2=200;var Panel=class{constructor(scene,texts,actions){this.scene=scene;this.texts=texts;this.actions=actions}scene;texts;actions;root=h(
"div",{class:"tlt-panel",role:"region","aria-label":"Details",hidden:true});stats=[];aggregate(){const{selected,events,axis}=this.
scene;this.stats=selected?statistics(events,axis,selected):[];this.show()}show(){const{focused,selected}=this.scene;const parts=[];
if(focused>=0)parts.push(this.details(focused));if(selected)parts.push(this.table(selected.length));this.root.hidden=parts.
length===0;this.root.replaceChildren(...parts,...parts.length?[h("div",{},...this.actions)]:[])}details(i){const{scene}=this;
const list=h("dl");const source=scene.events.source(i);const link=text=>sourceButton(this.root,text,source,scene.header.
code[source]??"",words=>scene.say(words));for(const{key,value}of factsOf(i,scene.events,this.texts,scene.header))list.append(
h("dt",{},key),h("dd",{dir:"auto"},key==="source"?link(value):value));return h("section",{},h("h3",{dir:"auto"},this.texts.
name(i)),list)}table(total){const names=this.scene.events.names;const body=h("tbody");for(const row of this.stats.slice(
0,MOST_NAMES2)){const cells=[number(row.count),...[row.total,row.mean,row.p50,row.p99].map(value=>value===void 0?"–":number(
value,value%1?1:0))];body.append(h("tr",{},h("td",{dir:"auto"},clean(names[row.name],80)),...cells.map(cell2=>h("td",{},
cell2)),h("td",{},row.share===void 0?"–":percent(row.share))))}const head=h("thead",{},h("tr",{},...this.heads.map(text=>h(
"th",{scope:"col"},text))));const title=`${count(total,"event")} selected`;const more=this.stats.length>MOST_NAMES2?`${number(
this.stats.length-MOST_NAMES2)} more names`:"";return h("section",{},h("h3",{},title),h("table",{"aria-label":title},head,
body),more)}get heads(){return["name","count",`total ${this.scene.axis.unit}`,"mean","p50","p99","share"]}asText(){const{
names}=this.scene.events;const lines=this.stats.map(row=>[names[row.name],row.count,row.total??"",row.mean??"",row.p50??
"",row.p99??"",row.share??""].join("	"));return[this.heads.join("	"),...lines].join("\n")}};var REACH=3;var SNAP=7;var SLOP=4;var CORNER=16;var WHEEL=.0016;var Pointer=class{constructor(stage,scene,to,signal){this.
stage=stage;this.scene=scene;this.to=to;const on=(type,handle,passive=true)=>stage.addEventListener(type,handle,{signal,
passive});on("pointerdown",event=>this.down(event));on("pointermove",event=>this.move(event));on("pointerup",event=>this.
up(event));on("pointercancel",event=>this.cancel(event));on("pointerleave",()=>this.leave());on("wheel",event=>this.wheel(
event),false);on("dblclick",event=>this.twice(event));on("contextmenu",event=>this.context(event),false)}stage;scene;to;drag=null;fingers=new Map;place(event){
const box2=this.stage.getBoundingClientRect();const scale2=box2.width/this.stage.offsetWidth||1;const{clientLeft,clientTop}=this.
stage;return{x:(event.clientX-box2.left)/scale2-clientLeft,y:(event.clientY-box2.top)/scale2-clientTop}}stripAt(y){const shown=[
...stuck(this.scene),...placed(this.scene,this.to.frame())];const under=shown.find(each=>y>=each.y&&y<each.y+each.strip.
height);if(!under||y<AXIS)return{strip:null,row:-1};const{strip}=under;if(strip.kind!=="lane")return{strip,row:-1};const lane=strip.
node.lanes[0];if(y-under.y>=lane.rows*ROW2+GAP)return{strip,row:-1};const row=Math.floor((y-under.y-GAP/2)/ROW2);return{
strip,row:lane.row+Math.min(Math.max(row,0),lane.rows-1)}}rowsAt(y){const{strip,row}=this.stripAt(y);if(!strip||strip.kind===
"head"||strip.kind==="lane"&&row<0)return{rows:[],lane:null};const{lanes}=strip.node;if(strip.kind==="lane")return{rows:[
row],lane:lanes[0]};return{rows:lanes.flatMap(lane=>Array.from({length:lane.rows},(_,n)=>lane.row+n)),lane:lanes[0]}}edgeAt(x,y){
const frame=this.to.frame();const{span}=this.scene;const perPixel=(span.to-span.from)/(frame.width-frame.gutter);return snapped(
this.scene,this.rowsAt(y).rows,timeAt(x,span,frame),SNAP*perPixel)}eventAt(x,y){const{scene}=this;const frame=this.to.frame();
if(x<frame.gutter||x>frame.width)return-1;const time2=timeAt(x,scene.span,frame);const perPixel=(scene.span.to-scene.span.
from)/(frame.width-frame.gutter);for(const each of this.rowsAt(y).rows){const{offset,rate}=scene.axis.line(scene.events.
lanes[scene.events.rowLane[each]]);const found=hit(scene.events,each,(time2-offset)/rate,REACH*perPixel/rate);if(found>=
0)return found}return-1}down(event){const{x,y}=this.place(event);if(event.target.closest(".tlt-scroll, .tlt-menu")||this.
onHandle(x,y))return;this.fingers.set(event.pointerId,{x,y});if(event.button>1||this.fingers.size>1)return;const frame=this.
to.frame();const onAxis=y<AXIS;const{strip}=this.stripAt(y);const inGutter=x<frame.gutter;const tool=event.shiftKey||event.
button===1?"pan":onAxis&&this.to.tool()==="pan"?"pan":this.to.tool();const kind=inGutter?strip?"lane":"none":event.pointerType===
"touch"&&tool==="select"?"pan":tool;const time2=kind==="measure"?this.edgeAt(x,y):timeAt(x,this.scene.span,frame);this.drag=
{kind,x,y,time:time2,scroll:this.scene.state.scroll,onAxis,strip,moved:false};this.stage.setPointerCapture(event.pointerId)}move(event){
const{x,y}=this.place(event);const finger=this.fingers.get(event.pointerId);if(finger&&this.fingers.size===2){this.pinch(
event.pointerId,{x,y});return}if(finger)this.fingers.set(event.pointerId,{x,y});const{drag,scene}=this;if(!drag){const busy=event.
target.closest(".tlt-scroll, .tlt-menu, .tlt-tip");scene.hover(busy?-1:this.eventAt(x,y));this.to.moved(busy?null:x,y);return}
if(!drag.moved&&Math.hypot(x-drag.x,y-drag.y)<SLOP)return;drag.moved=true;scene.hover(-1);this.to.moved(x,y);this.dragged(
drag,x,y,false)}dragged(drag,x,y,done){const{scene}=this;const frame=this.to.frame();const within=Math.min(Math.max(x,frame.
gutter),frame.width);const time2=drag.kind==="measure"?this.edgeAt(within,y):timeAt(within,scene.span,frame);const span={
from:Math.min(time2,drag.time),to:Math.max(time2,drag.time)};if(drag.kind==="pan"){const shift=drag.time-timeAt(x,scene.
span,frame);if(shift)scene.look({from:scene.span.from+shift,to:scene.span.to+shift});scene.scrollTo(drag.scroll+drag.y-y)}else if(drag.
kind==="measure"){scene.measured={...span,lane:this.rowsAt(y).lane??this.rowsAt(drag.y).lane};scene.brush(scene.area,false)}else if(drag.
kind==="select"){const top=AXIS+scene.rows.pinnedHeight-scene.state.scroll;const lanes=[Math.min(drag.y,y)-top,Math.max(
drag.y,y)-top];scene.measured=null;scene.brush({span,lanes:drag.onAxis?null:lanes},done)}}up(event){const{x,y}=this.place(
event);const{drag}=this;this.forget(event);if(!drag)return;if(drag.moved){if(drag.kind==="lane"&&drag.strip)this.drop(drag.
strip,y-drag.y);else this.dragged(drag,x,y,true);return}if(drag.kind==="lane"&&drag.strip)this.label(drag.strip);else if(drag.
kind!=="none")this.click(x,y)}click(x,y){const{scene}=this;const found=this.eventAt(x,y);if(found>=0){if(scene.area)scene.
clearSelection();scene.focus(found,false)}else{const{strip}=this.stripAt(y);if(strip?.kind==="summary")scene.toggle("col\
lapsed",strip.node.key);else scene.clearSelection()}}twice(event){const{x,y}=this.place(event);if(x<=this.to.frame().gutter||
this.onHandle(x,y))return;const found=this.eventAt(x,y);if(found<0)this.scene.showAll();else this.scene.showSelection()}onHandle(x,y){
const{clientWidth,clientHeight}=this.stage;return x>clientWidth-CORNER&&y>clientHeight-CORNER}label(strip){if(strip.kind!==
"lane")this.scene.toggle("collapsed",strip.node.key)}drop(strip,by){const steps=Math.round(Math.abs(by)/Math.max(strip.height,
HEAD));for(let n=0;n<steps;n++)this.scene.move(strip.node.key,by>0?1:-1)}cancel(event){if(this.drag?.kind==="select")this.
scene.brush(null,false);this.forget(event)}forget(event){this.fingers.delete(event.pointerId);this.drag=null}leave(){if(this.
drag)return;this.scene.hover(-1);this.to.moved(null,0)}pinch(id,now){const{scene}=this;const[other]=[...this.fingers].filter(
([key])=>key!==id).map(([,place])=>place);const before=this.fingers.get(id);this.fingers.set(id,now);this.drag=null;const frame=this.
to.frame();const apart=[before.x-other.x,now.x-other.x].map(Math.abs);if(Math.min(...apart)<10)return;const width=frame.
width-frame.gutter;const fixed=timeAt((before.x+other.x)/2,scene.span,frame);const next=(scene.span.to-scene.span.from)*
apart[0]/apart[1];const share=((now.x+other.x)/2-frame.gutter)/width;scene.look({from:fixed-share*next,to:fixed+(1-share)*
next})}wheel(event){const{scene}=this;const frame=this.to.frame();const{x}=this.place(event);const zooming=event.ctrlKey||
event.metaKey;const active=this.stage.getRootNode().activeElement===this.stage;if(event.target.closest(".tlt-scroll, .tl\
t-menu"))return;if(!zooming&&!active){this.to.hint();return}const unit=event.deltaMode===1?16:event.deltaMode===2?400:1;
const[dx,dy]=[event.deltaX*unit,event.deltaY*unit];event.preventDefault();if(!zooming&&(event.shiftKey||Math.abs(dx)>Math.
abs(dy))){scene.pan((Math.abs(dx)>Math.abs(dy)?dx:dy)/(frame.width-frame.gutter))}else if(!zooming&&x<frame.gutter)scene.
scrollTo(scene.state.scroll+dy);else{const share=Math.min(Math.max((x-frame.gutter)/(frame.width-frame.gutter),0),1);const strength=zooming&&
Math.abs(dy)<40?6:1;scene.zoom(Math.exp(Math.min(Math.max(dy*strength,-300),300)*WHEEL),share)}const place=this.place(event);
scene.hover(this.eventAt(place.x,place.y));this.to.moved(place.x,place.y)}context(event){const{x,y}=this.place(event);const{
strip}=this.stripAt(y);if(!strip||x>=this.to.frame().gutter)return;event.preventDefault();event.stopPropagation();this.to.
menu(strip,x,y)}};var Remarks=class{constructor(scene,changed,home){this.scene=scene;this.changed=changed;this.home=home;this.root.append(
this.input,this.list);this.input.hidden=true;this.input.addEventListener("keydown",event=>this.key(event))}scene;changed;home;root=h(
"div",{class:"tlt-remarks",role:"region","aria-label":"Notes",hidden:true});remarks=[];pending=null;input=h("input",{type:"\
text",placeholder:"a note: Enter keeps it","aria-label":"Note"});list=h("div");get all(){return this.remarks}set(remarks){
this.remarks=remarks;this.show();this.changed(this.bands,null)}begin(){const{scene}=this;const{measured,focused,events}=scene;
const origin=Number(events.origin);if(measured?.lane){const{offset,rate}=scene.axis.line(measured.lane);const cycle=time2=>Math.
round((time2-offset)/rate+origin);const{cta,thread}=measured.lane;this.pending={cta,thread,start:cycle(measured.from),end:cycle(
measured.to)}}else if(focused>=0){const{cta,thread}=events.laneOf(focused);this.pending={cta,thread,start:origin+events.
start[focused],end:origin+events.end(focused)}}else{scene.say("click an event, or measure on its lane, and then write on\
 it");return}this.root.hidden=false;this.input.hidden=false;this.input.value="";this.input.focus()}key(event){event.stopPropagation();
if(event.key!=="Enter"&&event.key!=="Escape")return;event.preventDefault();const text=this.input.value.trim();if(event.key===
"Enter"&&text&&this.pending)this.keep([...this.remarks,{...this.pending,text}]);this.pending=null;this.input.hidden=true;
this.show();this.home()}keep(remarks){this.remarks=remarks;this.show();this.changed(this.bands,remarks)}show(){this.list.
replaceChildren(...this.remarks.map(remark=>{const go=h("button",{type:"button",title:"go there"},clean(remark.text,200));
const gone=h("button",{type:"button","aria-label":"Remove this note"},"×");go.addEventListener("click",()=>this.go(remark));
gone.addEventListener("click",()=>this.keep(this.remarks.filter(each=>each!==remark)));const{cta,start,end}=remark;const where=`\
CTA ${cta}, ${end>start?duration(end-start,"cycles"):`at ${duration(start,"cycles")}`}`;return h("span",{},go,h("span",{
class:"tlt-count"},where),gone)}));this.root.hidden=!this.remarks.length&&this.input.hidden}go({cta,thread,start,end}){const{
scene}=this;const lane=scene.events.lanes.find(each=>each.cta===cta&&(thread<0||each.thread===thread));if(!lane)return;const{
offset,rate}=scene.axis.line(lane);const place=cycles=>offset+rate*(cycles-Number(scene.events.origin));const room=Math.
max((end-start)*rate,8);scene.look({from:place(start)-room,to:place(end)+room});scene.reveal(lane)}get bands(){const column=key=>this.
remarks.map(each=>each[key]);const order=[...this.remarks].sort((a,b)=>a.cta-b.cta||a.start-b.start);this.remarks=order;
if(!order.length)return null;const spans={cta:column("cta"),start:column("start"),end:column("end"),text:column("text")};
const over={which:"notes",words:"",linked:false,spans:{...spans,thread:column("thread"),lane:null,part:null}};return new Bands(
over,this.scene)}};var STYLE=`
.tlt { --tlt-ground: var(--jp-layout-color0, var(--vscode-editor-background, #ffffff)); background: var(--tlt-ground);
  color: var(--tlt-ink); font: 12px/1.4 system-ui, -apple-system, "Segoe UI", sans-serif; position: relative;
  border: 1px solid var(--tlt-line); border-radius: 6px; overflow: clip; min-width: 0; box-sizing: border-box;
  text-align: left; }
@media (prefers-color-scheme: dark) {
  .tlt { --tlt-ground: var(--jp-layout-color0, var(--vscode-editor-background, #16191d)); } }
.tlt[data-theme=light] { --tlt-ground: #ffffff; }
.tlt[data-theme=dark] { --tlt-ground: #16191d; }
.tlt *, .tlt *::before { box-sizing: border-box; }
.tlt[hidden], .tlt [hidden] { display: none !important; }
.tlt-bar { display: flex; align-items: center; gap: 5px; padding: 6px 8px; }
.tlt-title { font-weight: 600; font-size: 13px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  max-width: min(26em, 28%); }
.tlt-bar > *, .tlt-group > * { flex-shrink: 0; }
.tlt-tight > .tlt-search { flex-shrink: 1; }
.tlt-tight > .tlt-title { min-width: 2em; flex-shrink: 9; }
.tlt-tight > .tlt-badge { min-width: 3em; flex-shrink: 9; overflow: hidden; text-overflow: ellipsis; }
.tlt-more { position: absolute; right: 6px; top: 34px; z-index: 7; display: flex; flex-wrap: wrap; align-items: center;
  gap: 6px; padding: 8px; max-width: min(340px, calc(100% - 12px)); background: var(--tlt-ground);
  border: 1px solid var(--tlt-soft); border-radius: 5px; box-shadow: 0 3px 12px #0004; }
.tlt-count, .tlt-device { color: var(--tlt-soft); white-space: nowrap; }
.tlt-badge { border: 1px solid var(--tlt-line); border-radius: 9px; padding: 0 7px; color: var(--tlt-soft);
  font-size: 11px; white-space: nowrap; }
.tlt-badge.tlt-warns { border-color: var(--tlt-warn); color: var(--tlt-warn); }
.tlt-grow { flex: 1 1 0; min-width: 0; }
.tlt button, .tlt select, .tlt input { font: inherit; color: inherit; background: transparent; margin: 0;
  border: 1px solid var(--tlt-line); border-radius: 4px; height: 24px; padding: 0 6px; font-size: 11.5px; }
.tlt select option { background: var(--tlt-ground); color: var(--tlt-ink); }
.tlt button { cursor: pointer; min-width: 24px; }
.tlt button:hover, .tlt select:hover { background: var(--tlt-head); }
.tlt button[aria-pressed=true] { background: var(--tlt-ink); color: var(--tlt-ground); border-color: var(--tlt-ink); }
.tlt button:disabled { opacity: 0.4; pointer-events: none; }
.tlt-group { display: inline-flex; min-width: 0; }
.tlt-group > * { border-radius: 0 !important; margin-left: -1px !important; }
.tlt-group > :first-child { border-radius: 4px 0 0 4px !important; margin-left: 0 !important; }
.tlt-group > :last-child { border-radius: 0 4px 4px 0 !important; }
.tlt input[type=search] { min-width: 6em; flex: 0 1 auto; }
.tlt input[aria-invalid=true] { border-color: var(--tlt-warn); }
.tlt:focus, .tlt :focus { outline: none; }
.tlt :focus-visible { outline: 2px solid var(--tlt-accent); outline-offset: 1px; }
.tlt-found { color: var(--tlt-soft); min-width: 4em; white-space: nowrap; }
.tlt-note { padding: 0 8px 4px; overflow-wrap: anywhere; }
.tlt-verdict { color: var(--tlt-accent); }
.tlt-warn { color: var(--tlt-warn); }
.tlt-map { display: block; width: 100%; height: 34px; border-top: 1px solid var(--tlt-line); cursor: grab;
  touch-action: pan-y; }
.tlt-stage { position: relative; border-top: 1px solid var(--tlt-line); overflow: hidden; resize: vertical;
  min-height: 80px; max-height: 90vh; touch-action: pan-y; user-select: none; -webkit-user-select: none; }
.tlt-stage:focus::after { content: ""; position: absolute; inset: 0; z-index: 2; pointer-events: none;
  border: 2px solid var(--tlt-accent); }
.tlt-stage canvas { position: absolute; left: 0; top: 0; display: block; }
.tlt-stage canvas + canvas { pointer-events: none; }
.tlt-scroll { position: absolute; right: 0; bottom: 0; width: 14px; overflow: hidden auto; scrollbar-width: thin; }
.tlt-scroll > div { width: 1px; }
.tlt-tip { position: absolute; z-index: 3; pointer-events: none; max-width: 380px; padding: 7px 10px;
  background: var(--tlt-ground); border: 1px solid var(--tlt-soft); border-radius: 5px;
  box-shadow: 0 3px 12px #0004; overflow-wrap: anywhere; left: 0; top: 0; }
.tlt-tip b { display: block; font-size: 12.5px; }
.tlt-tip div { color: var(--tlt-soft); }
.tlt-tip div > span { color: var(--tlt-ink); }
.tlt-hint { position: absolute; left: 50%; bottom: 14px; transform: translateX(-50%); padding: 3px 12px;
  border-radius: 12px; background: var(--tlt-ink); color: var(--tlt-ground); pointer-events: none; z-index: 4; }
.tlt-menu { position: absolute; z-index: 5; display: flex; flex-direction: column; padding: 4px;
  background: var(--tlt-ground); border: 1px solid var(--tlt-soft); border-radius: 5px; box-shadow: 0 3px 12px #0004; }
.tlt-menu button { border: 0; text-align: left; }
.tlt-legend { display: flex; flex-wrap: wrap; gap: 2px 4px; padding: 5px 8px; border-top: 1px solid var(--tlt-line);
  max-height: 84px; overflow: auto; align-items: center; }
.tlt-measured { margin-left: auto; padding: 1px 8px; border-radius: 3px; background: var(--tlt-accent);
  color: var(--tlt-ground); font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tlt-remarks { padding: 4px 8px; border-top: 1px solid var(--tlt-line); }
.tlt-remarks > div { display: flex; flex-wrap: wrap; gap: 2px 14px; max-height: 90px; overflow: auto; }
.tlt-remarks button { border: 0; height: 20px; padding: 0 5px; min-width: 0; overflow-wrap: anywhere; }
.tlt-remarks input { width: min(420px, 100%); }
.tlt-aggregate { display: grid; gap: 10px; max-height: 420px; overflow: auto; padding: 8px 10px;
  border-top: 1px solid var(--tlt-line); }
.tlt-aggregate h3 { font-size: 12px; margin: 0 0 4px; font-weight: 600; }
.tlt-aggregate section { min-width: 0; overflow-x: auto; }
.tlt-aggregate button { border: 0; height: 22px; padding: 1px 4px; }
.tlt-histogram { display: block; background: var(--tlt-head); }
.tlt-flame { position: relative; }
.tlt .tlt-flame button { position: absolute; height: 20px; min-width: 0; padding: 0 4px; border-radius: 2px; font-size: \
11px;
  text-align: left; white-space: nowrap; overflow: hidden; border-right: 1px solid var(--tlt-ground); }
.tlt .tlt-flame button:hover { filter: brightness(1.12); }
.tlt-fold { display: grid; grid-template-columns: 150px 1fr; gap: 8px; align-items: center; }
.tlt-fold > :first-child { color: var(--tlt-soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tlt-fold svg { display: block; background: var(--tlt-head); }
.tlt-lines { max-height: 300px; overflow: auto; padding: 6px 10px; border-top: 1px solid var(--tlt-line); }
.tlt-lines button { border: 0; height: 19px; padding: 0 4px; color: var(--tlt-accent); }
.tlt-lines code { font: 11.5px ui-monospace, monospace; white-space: pre; background: none; color: inherit; }
.tlt-lines td:nth-child(2), .tlt-lines th:nth-child(2) { text-align: left; max-width: 60ch; overflow: hidden;
  text-overflow: ellipsis; }
.tlt-lines .tlt-on { background: var(--tlt-head); font-weight: 600; }
.tlt .tlt-source { border: 0; height: auto; padding: 0; font: inherit; white-space: pre; color: var(--tlt-accent); }
.tlt .tlt-source:hover { text-decoration: underline; background: none; }
.tlt-line-time { position: relative; min-width: 130px; }
.tlt-line-bar { position: absolute; left: 0; top: 3px; bottom: 3px; background: var(--tlt-accent); opacity: 0.25; }
.tlt-change { font-weight: 600; color: var(--tlt-accent); white-space: nowrap; }
.tlt-present { zoom: 1.5; }
.tlt-present .tlt-search, .tlt-present .tlt-count, .tlt-present .tlt-device { display: none; }
.tlt-light { margin-left: auto; align-self: center; color: var(--tlt-soft); }
.tlt-launches { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 0 8px 6px; max-height: 92px; overflow-y: auto; }\

.tlt-launches > span { display: inline-flex; align-items: center; gap: 5px; min-width: 0; }
.tlt-launches bdi { font-weight: 600; }
.tlt-legend button { display: inline-flex; align-items: center; gap: 5px; border-color: transparent; max-width: 22em;
  height: 21px; padding: 0 6px; }
.tlt-legend button > bdi { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tlt-legend button[aria-pressed=true] { background: transparent; color: inherit; border-color: transparent; }
.tlt-legend button[aria-pressed=false] { opacity: 0.4; text-decoration: line-through; }
.tlt-swatch { width: 11px; height: 11px; border-radius: 2px; flex: none; }
.tlt .tlt-align[aria-pressed] { border-color: var(--tlt-line); max-width: none; opacity: 1; text-decoration: none; }
.tlt .tlt-align[aria-pressed=true] { border-color: var(--tlt-accent); color: var(--tlt-accent); }
.tlt-before .tlt-swatch { height: 5px; opacity: 0.5;
  background: linear-gradient(to right, #1e78b4 50%, #f0a500 50%); }
.tlt-instead { padding: 16px 14px; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 400px; overflow: auto; }
.tlt-speaks > :not(.tlt-instead) { display: none !important; }
.tlt-ramp { width: 160px; height: 11px; border-radius: 2px; }
.tlt-panel { display: flex; flex-wrap: wrap; gap: 8px 28px; padding: 8px 10px; border-top: 1px solid var(--tlt-line);
  max-height: 240px; overflow: auto; }
.tlt-panel h3 { font-size: 12px; margin: 0 0 4px; font-weight: 600; overflow-wrap: anywhere; }
.tlt-panel dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 12px; margin: 0; }
.tlt-panel dt { color: var(--tlt-soft); } .tlt-panel dd { margin: 0; overflow-wrap: anywhere; }
.tlt table { border-collapse: collapse; font: inherit; font-variant-numeric: tabular-nums; margin: 0; }
.tlt th, .tlt td { padding: 1px 12px 1px 0; text-align: right; border: 0; background: none; color: inherit; }
.tlt th { color: var(--tlt-soft); font-weight: 500; }
.tlt th:first-child, .tlt td:first-child { text-align: left; max-width: 22em; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
.tlt-help { position: absolute; inset: 0; z-index: 6; overflow: auto; padding: 12px 16px; background: var(--tlt-ground);\
 }
.tlt-help .tlt-keys { columns: 270px; column-gap: 28px; margin: 8px 0; padding: 0; }
.tlt-help .tlt-keys div { display: flex; gap: 8px; break-inside: avoid; padding: 1.5px 0; }
.tlt-help kbd { font: 11px ui-monospace, monospace; border: 1px solid var(--tlt-line); border-radius: 3px;
  padding: 0 5px; background: var(--tlt-head); color: inherit; white-space: nowrap; box-shadow: none; }
.tlt-help .tlt-keys div > span:first-child { flex: 0 0 8.5em; }
.tlt-sr { position: absolute !important; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.tlt-error { padding: 10px 12px; color: var(--tlt-warn, #b93c06); overflow-wrap: anywhere; }
`;function chromeTrace(scene,positions,remarks){const{events,header,state}=scene;const unit=header.ns?"ns":"cycles";const axis=new Axis(
events,unit,null,null,header.launches,new Set(state.hiddenLaunches));const byLane=new Map;let first=0;for(const i of positions){
const lane=events.laneOf(i);const list=byLane.get(lane);if(list)list.push(i);else byLane.set(lane,[i]);first=Math.min(first,
Number(axis.origin)+axis.startOf(i))}const stamp=time2=>Math.max(Math.round(Number(axis.origin)+time2-first),0)/1e3;const lanes=[
...byLane].sort(([a],[b])=>a.index-b.index);const names=[...new Set([...byLane.keys()].sort(bySm).map(processName))];const found=names.
flatMap((name2,n)=>named("process",{pid:n+1,tid:0},name2,n+1));const arrows=arrowsOf(events,new Set([...byLane.values()].
flat()));let tid=0;for(const[lane,own]of lanes){for(const[sub,steps]of nested(events,own).entries()){const place={pid:names.
indexOf(processName(lane))+1,tid:++tid};found.push(...named("thread",place,threadName(lane,sub),tid));for(const{i,ends}of steps){
const at={ts:stamp(ends?axis.endOf(i):axis.startOf(i)),...place};const joined=(arrows.get(i)??[]).filter(each=>each.atEnd===
ends).map(({arrow:arrow2})=>({...arrow2,...at}));found.push(...ends?[...joined,{ph:"E",...at}]:[{...begin(events,i),...at},
...joined])}}}found.push(...notes(scene,axis,remarks,stamp,names.length+1));const otherData={kernel:header.title,gpu:header.
device,trust:header.badge?.why??"",time_unit:header.ns?"ns":"cycles, the clock rate being unknown; readers call them ns"};
return JSON.stringify({displayTimeUnit:"ns",otherData,traceEvents:found})}function bySm(a,b){return(a.launch??a.rank??0)-
(b.launch??b.rank??0)||a.sm-b.sm}function processName({rank,launch,sm}){const part=rank!==null?`rank ${rank}`:launch!==null?
`launch ${launch}`:"";return[part,sm>=0?`SM ${sm}`:"SM unknown"].filter(Boolean).join(" · ")}function threadName({cta,thread,
name:name2,group,role},sub){const more=[...new Set([group,role])].filter(word=>word&&word!=="default").join(", ");return`\
CTA ${cta} · t${thread} · ${name2}${more?` (${more})`:""}${sub?` · row ${sub+1}`:""}`}function named(what,place,name2,rank){
return[{ph:"M",name:`${what}_name`,...place,args:{name:name2}},{ph:"M",name:`${what}_sort_index`,...place,args:{sort_index:rank}}]}
function begin(events,i){const instant=events.isInstant(i);const[payload,end]=[events.payloadOf(i),events.payloadEndOf(i)];
const args={start_cycles:Number(events.origin+BigInt(events.start[i])),source:events.source(i),...payload===void 0?{}:{payload:plain(
payload)},...instant?{}:{duration_cycles:events.duration[i]},...instant||end===void 0||Object.is(end,payload)?{}:{payload_end:plain(
end)},...events.isTruncated(i)?{truncated:true}:{}};return{...instant?{ph:"i",s:"t"}:{ph:"B"},name:events.name(i),args}}
function plain(value){const number2=Number(value);return Number.isFinite(number2)?number2:String(number2)}function nested(events,own){
const{start,duration:duration2,id}=events;const tracks=[{steps:[],open:[]}];own.sort((a,b)=>start[a]-start[b]||duration2[b]-
duration2[a]||id[a]-id[b]);for(const i of own){for(const{steps,open}of tracks)while(open.length&&events.end(open[open.length-
1])<=start[i])steps.push({i:open.pop(),ends:true});const top=({open})=>open[open.length-1];const around=tracks.filter(each=>each.
open.length&&events.end(top(each))>=events.end(i));let track=around.sort((a,b)=>start[top(b)]-start[top(a)])[0]??tracks.
find(({open})=>!open.length);if(!track){track={steps:[],open:[]};tracks.push(track)}track.steps.push({i,ends:false});if(!events.
isInstant(i))track.open.push(i)}for(const{steps,open}of tracks)while(open.length)steps.push({i:open.pop(),ends:true});return tracks.
map(({steps})=>steps)}function arrowsOf(events,there){const found=new Map;const add2=(i,arrow2,atEnd)=>{found.set(i,[...found.
get(i)??[],{arrow:arrow2,atEnd}])};events.flowSrc.forEach((src,n)=>{const dst=events.flowDst[n];if(!there.has(src)||!there.
has(dst))return;const arrow2={cat:"dag",name:"dag",id:n+1};add2(src,{ph:"s",...arrow2},false);add2(dst,{ph:"f",bp:"e",...arrow2},
!events.isInstant(dst)&&events.start[dst]<events.start[src])});return found}function notes({events},axis,remarks,stamp,pid){
const free=[];const found=[];const placed2=remarks.flatMap(remark=>{const lane=events.lanes.find(({cta})=>cta===remark.cta);
if(!lane)return[];const{offset,rate}=axis.line(lane);const[from,to]=[remark.start,remark.end].map(cycles=>stamp(offset+rate*
(cycles-Number(events.origin))));return[{remark,from,to:Math.max(from,to)}]});placed2.sort((a,b)=>a.from-b.from||a.to-b.
to);for(const{remark,from,to}of placed2){const known=free.findIndex(since=>since<from||since===from&&from<to);const row=known<
0?free.length:known;const place={pid,tid:row+1};if(known<0)found.push(...named("thread",place,row?`notes · row ${row+1}`:
"notes",row+1));free[row]=to;const{cta,thread,start,end,text}=remark;const args={cta,start_cycles:start,duration_cycles:end-
start,...thread>=0?{thread}:{}};if(to>from)found.push({ph:"B",name:text,ts:from,...place,args},{ph:"E",ts:to,...place});else
found.push({ph:"i",s:"t",name:text,ts:from,...place,args})}return found.length?[...named("process",{pid,tid:0},"notes",0),
...found]:found}function offers(scene,{picture,texts,remarks,onPage}){const{selected,header}=scene;const name2=header.title||"timeline";
const fail=error=>scene.say(error.message);const save2=(text,type,suffix)=>{const{positions,note}=taken(scene);download(
new Blob([text(positions)],{type}),name2+suffix);if(note)scene.say(note)};const rows=()=>save2(positions=>rowsOf(scene,texts,
positions),"text/csv",".csv");const trace=()=>save2(positions=>chromeTrace(scene,positions,remarks),"application/json","\
.json");const entries=[["Copy the picture",()=>copy(asPng(picture())).then(()=>scene.say(""),fail)],["Save the picture",
()=>asPng(picture()).then(blob=>download(blob,`${name2}.png`),fail)],[selected?"Save the selected rows":"Save the rows",
rows],[selected?"Save the selection for Perfetto":"Save for Perfetto",trace]];if(onPage)entries.push([selected?"Save a p\
age of the selection":"Save as a page",onPage]);return entries}async function copy(picture){if(!navigator.clipboard?.write)
throw new Error("this page may not write to the clipboard: save the picture");await navigator.clipboard.write([new ClipboardItem(
{"image/png":picture})])}var HINT_MS=1400;var Tip=class{constructor(scene,texts){this.scene=scene;this.texts=texts}scene;texts;root=h("div",{class:"\
tlt-tip",hidden:true});said=-1;show(pointer,frame){const{root,scene}=this;const i=scene.hovered;root.hidden=i<0||!pointer;
if(i<0||!pointer)return;if(this.said!==i){this.said=i;const facts=factsOf(i,scene.events,this.texts,scene.header);const lines=facts.
map(({key,value})=>h("div",{},`${key} `,h("span",{dir:"auto"},value)));root.replaceChildren(h("b",{dir:"auto"},this.texts.
name(i)),...lines)}const[width,height]=[root.offsetWidth,root.offsetHeight];const{x,y}=pointer;const left=x+14+width>frame.
width?Math.max(x-14-width,2):x+14;const below=y+16+height<=frame.height;const top=below?y+16:Math.max(Math.min(y-12-height,
frame.height-height),2);root.style.transform=`translate(${Math.round(left)}px, ${Math.round(top)}px)`}};var Hint=class{root=h(
"div",{class:"tlt-hint",hidden:true},"Ctrl + wheel zooms; click to activate the wheel and the keys");timer=0;show(){this.
root.hidden=false;clearTimeout(this.timer);this.timer=window.setTimeout(()=>{this.root.hidden=true},HINT_MS)}close(){clearTimeout(
this.timer)}};var MOST_RUNS=1e6;function toRuns(ids){const sorted=ids.slice().sort();const runs=[];for(let i=0;i<sorted.length;i++){if(i>
0&&sorted[i]===sorted[i-1]+1)runs[runs.length-1]++;else runs.push(sorted[i],1)}if(runs.length>2*MOST_RUNS)throw new Error(
"this selection is too scattered to hand over: select it in Python");return Uint32Array.from(runs)}function fromRuns(bytes){
const runs=new Uint32Array(bytes.slice().buffer);let count2=0;for(let n=1;n<runs.length;n+=2)count2+=runs[n];const ids=new Uint32Array(
count2);for(let n=0,at=0;n<runs.length;n+=2)for(let k=0;k<runs[n+1];k++)ids[at++]=runs[n]+k;return ids}var LATER_MS=200;var Told=class{constructor(scene,listener,settled,signal){this.scene=scene;this.listener=listener;this.
settled=settled;scene.on("selection",()=>this.tellSelection());for(const change of["state","moved"])scene.on(change,()=>{
this.changed||=!this.quiet;this.soon()});signal.addEventListener("abort",()=>clearTimeout(this.later));this.soon()}scene;listener;settled;later=0;quiet=false;changed=false;soon(){
clearTimeout(this.later);this.later=window.setTimeout(()=>{this.settled();if(this.changed)this.listener.onView?.(save(this.
scene.state));this.changed=false},LATER_MS)}tellSelection(){if(this.quiet||!this.listener.onSelection)return;const{selected,
events}=this.scene;try{this.listener.onSelection(selected?toRuns(selected.map(i=>events.id[i])):new Uint32Array(0))}catch(error){
this.scene.say(error.message)}}setView(saved){const now=save(this.scene.state);if(JSON.stringify(now)===JSON.stringify({
...now,...saved}))return;this.quiet=true;this.scene.restore(saved);this.quiet=false}setSelection(runs){const{scene}=this;
const positions=fromRuns(runs).map(id=>scene.events.positionOf(id)).sort();if(sameNumbers(positions,scene.selected??new Uint32Array(
0)))return;this.quiet=true;scene.area=null;scene.select(positions.length?positions:null);this.quiet=false}};function sameNumbers(a,b){
return a.length===b.length&&a.every((value,i)=>value===b[i])}var USUAL_HEIGHT=[110,560];var View=class{constructor(host,wire,options,before=null,compared=null){this.options=options;
const{signal}=this.ending;const saved=before?.scene.events.count?save(before.scene.state):options.view??{};const other=compared&&
new Ghost(new Events(compared),compared.header,{});const scene=new Scene(new Events(wire),wire.header,saved,before?.asGhost()??
other);this.scene=scene;this.texts=new Texts(scene.events);this.tip=new Tip(scene,this.texts);this.stage=h("div",{class:"\
tlt-stage",tabindex:"0",role:"application","aria-roledescription":"timeline","aria-label":`Lanes of ${wire.header.title||
"the trace"}; press ? for the keys`},this.tip.root,this.hint.root);this.spoken=new Spoken(scene,this.texts);this.bar=new Bar(
scene,{tool:()=>this.tool,use:tool=>this.use(tool),help:()=>this.help(),save:near=>this.offer(near),lines:()=>this.lines.
toggle(),aggregate:()=>this.aggregate.toggle(),over:which=>this.choose(which),overs:Object.keys(options.overs??{}),home:()=>this.
stage.focus()},signal);this.legend=new Legend(scene,signal);this.launches=new Launches(scene,signal);this.panel=new Panel(
scene,this.texts,this.actions(signal));this.lines=new Lines(scene);this.aggregate=new Aggregate(scene);const noted=(bands,told)=>{
this.overlay.remarks=bands;if(told)this.options.onRemarks?.(told);this.ask()};this.remarks=new Remarks(scene,noted,()=>this.
stage.focus());const losses=wire.header.losses?h("div",{class:"tlt-note tlt-warn",role:"note"},wire.header.losses):null;
this.root=h("div",{class:"tlt",tabindex:"-1","data-theme":options.theme??"auto",role:"region","aria-label":`Timeline of ${wire.
header.title||"a trace"}`},h("style",{},STYLE),this.bar.root,losses,this.launches.root,this.note,this.verdict,this.words,
this.stage,this.legend.root,this.panel.root,this.remarks.root,this.lines.root,this.aggregate.root,this.spoken.live,this.
spoken.table);const[least,most]=USUAL_HEIGHT;const wanted=options.height??Math.min(Math.max(scene.rows.height+AXIS+1,least),
most);this.stage.style.height=before?before.heightOver(wanted):`${wanted}px`;const focused=before?.root.contains(focusedIn(
before.root));if(before)before.root.replaceWith(this.root);else host.append(this.root);this.bar.fit();this.drawing=new Drawing(
this.root,this.stage,scene,this.texts,this.tip,signal);this.history=new History(scene);this.remarks.set(options.remarks??
[]);this.menu=new Menu(this.stage,scene,()=>this.stage.focus());new Pointer(this.stage,scene,{frame:()=>this.frame,tool:()=>this.
tool,moved:(x,y)=>this.drawing.pointed(x,y),hint:()=>this.hint.show(),menu:(strip,x,y)=>this.menu.open(strip,x,y)},signal);
this.listen(signal);if(before)this.moveOn(before);if(focused)this.stage.focus({preventScroll:true});this.told=new Told(scene,
options,()=>this.spoken.list(),signal)}options;scene;ending=new AbortController;root;stage;hint=new Hint;tip;menu;note=h(
"div",{class:"tlt-note tlt-warn",role:"alert",hidden:true});verdict=h("div",{class:"tlt-note tlt-verdict",role:"status",
hidden:true});words=h("div",{class:"tlt-instead",role:"alert",hidden:true});drawing;history;bar;legend;launches;panel;lines;aggregate;remarks;spoken;texts;told;tool="\
select";helping=null;asGhost(){const{events,header,state,ghost}=this.scene;return events.count?new Ghost(events,header,state):
ghost}heightOver(wanted){return`${Math.max(Number.parseFloat(this.stage.style.height),wanted)}px`}moveOn(before){this.tool=
before.tool;this.use(this.tool);this.drawing.moveFrom(before.scene);before.close();this.draw()}say(words){this.words.textContent=
words;this.words.hidden=!words;this.root.classList.toggle("tlt-speaks",Boolean(words))}listen(signal){const{scene,stage}=this;
scene.on("hover",()=>{this.legend.measure(scene.measured?measuredText(scene,scene.measured):"");this.ask()});scene.on("f\
ocus",()=>{this.panel.show();this.lines.mark();this.aggregate.follow();this.spoken.say();this.bar.show();this.ask()});scene.
on("selection",()=>{this.panel.aggregate();this.lines.mark();this.aggregate.show()});let{unit}=scene.state;scene.on("sta\
te",()=>{if(unit!==scene.state.unit)this.panel.aggregate();unit=scene.state.unit;this.bar.show();this.legend.show();this.
launches.show();this.lines.show();this.aggregate.show()});scene.on("message",()=>{this.note.textContent=scene.message;this.
note.hidden=!scene.message});keepFocus(this.root,stage,this.drawing.scroll,signal);this.root.addEventListener("keydown",
event=>this.key(event),{signal});this.root.addEventListener("pointerdown",event=>{if(!this.menu.holds(event.target))this.
menu.close();this.bar.closeMore(event.target)},{signal});const sizes=new ResizeObserver(()=>{this.bar.fit();this.drawing.
redraw()});sizes.observe(stage);signal.addEventListener("abort",()=>sizes.disconnect())}close(){this.ending.abort();this.
hint.close();this.root.remove()}get frame(){return this.drawing.frame}get theme(){return this.drawing.theme}get spent(){
return this.drawing.spent}get overlay(){return this.drawing.overlay}ask(){this.drawing.ask()}draw(){this.drawing.draw()}key(event){
if(!event.ctrlKey&&!event.metaKey&&!event.altKey)event.stopPropagation();if(event.target!==this.stage&&event.target!==this.
root&&!isSpare(event))return;const desk={search:()=>this.bar.search.focus(),help:()=>this.help(),copy:()=>this.copy(),go:by=>this.
history.go(by),present:()=>this.present(),remark:()=>this.remarks.begin(),lines:()=>this.lines.toggle(),aggregate:()=>this.
aggregate.toggle(),leave:()=>this.leave(),use:tool=>this.use(tool),nextColor:()=>this.scene.set({colorBy:COLOR_BY[(COLOR_BY.
indexOf(this.scene.state.colorBy)+1)%COLOR_BY.length]})};if(!press2(event,this.scene,desk))return;event.preventDefault();
event.stopPropagation()}use(tool){this.tool=tool;if(tool!=="measure")this.scene.measured=null;this.stage.style.cursor=tool===
"pan"?"grab":tool==="measure"?"crosshair":"";this.bar.show();this.ask()}leave(){const{scene}=this;if(this.bar.closeMore())
return;if(this.helping)this.help();else if(scene.selected||scene.area||scene.measured||scene.focused>=0)scene.clearSelection();else
this.stage.blur()}present(){this.root.classList.toggle("tlt-present");this.bar.fit();this.drawing.redraw()}help(){if(this.
helping){this.helping.remove();this.helping=null;this.stage.focus();return}this.helping=help(()=>this.help());this.helping.
addEventListener("keydown",event=>{event.stopPropagation();if(event.key==="Escape"||event.key==="?")this.help()});this.root.
append(this.helping);this.helping.focus()}actions(signal){const make=(text,act)=>{const button2=h("button",{type:"button"},
text);button2.addEventListener("click",act,{signal});return button2};return[make("Zoom to it",()=>this.scene.showSelection()),
make("Copy",()=>this.copy()),make("Clear",()=>this.scene.clearSelection())]}copy(){const{focused,selected,events,header}=this.
scene;const parts=focused>=0?[asText(focused,events,this.texts,header)]:[];if(selected)parts.push(this.panel.asText());const text=parts.
join("\n\n");if(!text)return;copyText(text,this.root).catch(()=>this.scene.say("this page may not write to the clipboard"))}choose(which){
const known=this.options.overs?.[which];if(known||!which)this.setOver(known??null);if(!known)this.options.onOver?.(which)}setOver(over){
const shown=over?.which?over:null;this.overlay.bands=shown&&new Bands(shown,this.scene);this.verdict.textContent=shown?.
words??"";this.verdict.hidden=!shown?.words;this.bar.showOver(shown?.which??"");this.ask()}setRemarks(remarks){this.remarks.
set(remarks)}offer(near){const picture=()=>{this.draw();const{base,over}=this.drawing;return pictureOf([base,over],this.
scene,this.frame,this.theme)};const{onPage}=this.options;const seen={picture,texts:this.texts,remarks:this.remarks.all,onPage:onPage&&
(()=>onPage())};const left=near.getBoundingClientRect().left-this.stage.getBoundingClientRect().left;this.menu.show(offers(
this.scene,seen),left-120,0)}setView(saved){this.told.setView(saved)}setSelection(runs){this.told.setSelection(runs)}};async function mount(element,data,options={},before=null){try{const compared=data.before?await wireOf(data.before):null;
return new View(element,await wireOf(data),options,before,compared)}catch(error){showError(element,error);throw error}}async function wireOf({
header,columns}){const bytes=typeof columns==="string"?await unpack(columns):bytesOf(columns);return new Wire(typeof header===
"string"?JSON.parse(header):header,bytes)}function showError(element,error){element.append(h("div",{class:"tlt-error",role:"\
alert"},`The timeline cannot be shown: ${error.message}`))}async function unpack(base64){return inflate(Uint8Array.from(
atob(base64),c=>c.charCodeAt(0)))}async function inflate(packed){if(typeof DecompressionStream==="undefined")throw new Error(
"this browser cannot unpack gzip; a newer one can");const stream=new Blob([packed]).stream().pipeThrough(new DecompressionStream(
"gzip"));return new Uint8Array(await new Response(stream).arrayBuffer())}var GRACE_MS=1e3;function define(name2){if(customElements.get(name2))return;class Saved extends HTMLElement{sight=new IntersectionObserver(
entries=>this.seen(entries[entries.length-1]));place=document.createElement("div");view=null;waiting=0;connectedCallback(){
this.sight.observe(this)}disconnectedCallback(){this.sight.disconnect();this.close()}seen(entry){clearTimeout(this.waiting);
if(entry.isIntersecting&&!this.view)this.waiting=window.setTimeout(()=>this.open(),GRACE_MS);else if(!this.getClientRects().
length)this.close()}async open(){const{header,columns,options}=this.dataset;if(!this.getClientRects().length||!header||!columns)
return;const stills=[...this.children];this.append(this.place);const view=await mount(this.place,{header,columns},JSON.parse(
options??"{}")).catch(error=>{console.error(error);this.place.remove();return null});if(!view)return;this.view=view;for(const still of stills)
still.hidden=true;if(!this.isConnected)this.close()}close(){clearTimeout(this.waiting);this.view?.close();this.view=null;
this.place.remove();this.place.replaceChildren();for(const still of this.children)still.hidden=false}}customElements.define(
name2,Saved)}var PATIENCE_MS2=6e4;async function render({model,el}){const ending=new AbortController;const{signal}=ending;const still=new Still(
el,model.get("still"));signal.addEventListener("abort",()=>still.show());const listen=(event,handler)=>{model.on(event,handler);
signal.addEventListener("abort",()=>model.off(event,handler))};let view=null;let loading=new AbortController;const load=async()=>{
loading.abort();loading=new AbortController;const mine=AbortSignal.any([signal,loading.signal]);let bytes;if(model.get("\
columns").byteLength)still.hide();try{bytes=await columnsOf(model,mine)}catch(error){if(mine.aborted)return;if(!view)showError(
el,error);still.show();return}if(mine.aborted)return;still.hide();const header=JSON.parse(model.get("header"));const options={
height:model.get("height"),theme:model.get("theme"),view:model.get("view"),onView:saved=>{model.set("view",saved);model.
save_changes()},overs:Object.fromEntries((model.get("overs")??[]).map(which=>[which,null])),onOver:which=>model.send({kind:"\
over",which}),remarks:model.get("remarks")??[],onRemarks:remarks=>{model.set("remarks",[...remarks]);model.save_changes()},
onPage:()=>model.send({kind:"page"}),onSelection:runs=>{model.set("selected",new DataView(runs.buffer));model.save_changes()}};
const compared=bytesOf(model.get("before_columns")??new ArrayBuffer(0));const other=compared.length?{header:model.get("b\
efore_header")??"",columns:await inflate(compared)}:null;view=await mount(el,{header,columns:bytes,before:other},options,
view);if(signal.aborted)view.close();view.setSelection(bytesOf(model.get("selected")));view.say(model.get("instead"));view.
setOver(model.get("over")??null)};const open=()=>load().catch(error=>{still.show();console.error(error)});let asked=0;const reload=()=>{
clearTimeout(asked);asked=window.setTimeout(open)};signal.addEventListener("abort",()=>{clearTimeout(asked);view?.close()});
listen("msg:custom",((content,buffers)=>{if(content.kind==="page")download(new Blob([bytesOf(buffers[0])],{type:"text/ht\
ml"}),`${content.name}.html`)}));listen("change:header",reload);listen("change:columns",reload);listen("change:instead",
()=>view?.say(model.get("instead")));listen("change:over",()=>view?.setOver(model.get("over")??null));listen("change:rem\
arks",()=>view?.setRemarks(model.get("remarks")??[]));listen("change:view",()=>view?.setView(model.get("view")));listen(
"change:selected",()=>view?.setSelection(bytesOf(model.get("selected"))));open();return()=>ending.abort()}async function columnsOf(model,signal){
const saved=bytesOf(model.get("columns"));if(saved.length)return inflate(saved);return new Promise((resolve,reject)=>{const timer=setTimeout(
()=>reject(new Error("its events are in Python, which does not answer: run the cell again")),PATIENCE_MS2);const answer=(content,buffers)=>{
if(content.kind!=="columns")return;model.off("msg:custom",answer);clearTimeout(timer);resolve(bytesOf(buffers[0]))};model.
on("msg:custom",answer);signal.addEventListener("abort",()=>{clearTimeout(timer);model.off("msg:custom",answer);reject(new Error(
"closed"))});model.send({kind:"columns"})})}var Still=class{constructor(el,name2){this.el=el;if(!/^[\w-]+$/.test(name2))
return;const output=`.jp-OutputArea-child:has(> .jp-OutputArea-output > .${name2})`;this.rule.textContent=`.${name2}, ${output}\
 { display: none !important; }`}el;rule=document.createElement("style");hide(){const root=this.el.getRootNode();if(!this.
rule.isConnected)(root instanceof ShadowRoot?root:document.head).append(this.rule)}show(){this.rule.remove()}};var widget={
render};export{widget as default,define,followHash,fromHash,mount};
